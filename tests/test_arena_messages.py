"""What programs are told: all that a view knows, nothing hidden; and the example plays by it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from arenas import AMPLE
from callbreak_env import PRESETS, Match
from callbreak_env.actions import action_text
from callbreak_env.arena import messages
from callbreak_env.arena.guard import ask, ask_reset
from callbreak_env.arena.process import ProcessAgent
from callbreak_env.cards import card_text, parse_card
from callbreak_env.policy import make_agent
from callbreak_env.table import View
from callbreak_env.worlds import Worlds
from positions import VARIETY, random_play

Amount = Callable[..., int]

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "external_agent.py"


def test_it_is_told_what_the_view_knows(amount: Amount) -> None:
    """Read back by another way than it was written."""
    rng = random.Random(3)
    longest = 0
    for rules in VARIETY.values():
        for match in random_play(Match(rules, seed=4), rng):
            if match.is_over or rng.random() < amount(80, no_jit=97) / 100:
                continue
            view = match.view(match.seat or 0)
            line = messages.line_of(10**6, messages.act(view))
            longest = max(longest, len(line))
            told = json.loads(line)
            assert [told[key] for key in ("id", "type", "seat")] == [10**6, "act", match.seat]
            plain = ("bids", "tricks_won", "dealer", "leader", "deal", "redeals", "trick_no", "last_winner")
            for name in (*plain, "phase", "totals", "points"):
                assert told[name] == getattr(view, name), name
            assert told["active"] == [0, 1, 2, 3]
            assert list(map(parse_card, told["hand"])) == view.hand
            assert told["trump"] == (None if view.trump is None else "CDHS"[view.trump])
            for name in ("trick", "plays"):
                assert [(seat, parse_card(card)) for seat, card in told[name]] == getattr(view, name)
            for seat in range(4):
                assert list(map(parse_card, told["may_hold"][seat])) == view.may_hold(seat)
            assert told["legal_actions"] == view.legal_actions()
            names = [f"bid {each}" if isinstance(each, int) else each for each in told["legal"]]
            assert names == [action_text(action) for action in view.legal_actions()]
    assert longest < 4096, "it fits into the smallest pipe"


def test_hidden_cards_and_the_future_are_not_in_it(amount: Amount) -> None:
    """The hidden hands and the key of the shuffles of another world: the same bytes."""
    rng = random.Random(4)
    compared = 0
    for name in list(VARIETY)[: amount(10, no_jit=2)]:
        for match in random_play(Match(VARIETY[name], seed=6), rng):
            if match.is_over or rng.random() < 0.9:
                continue
            view = match.view(match.seat or 0)
            line = messages.line_of(3, messages.act(view))
            for hands in Worlds(view).sample(3, rng.randrange(1000)):
                tables = match.record_array.copy()
                compared += int((tables["hands"][0] != hands).any())
                tables["hands"] = hands
                for secret in ("seed", "match", "deck"):
                    tables[secret] += 1
                assert messages.line_of(3, messages.act(View(tables, match.rules, view.viewer))) == line
    assert compared > amount(100, no_jit=5)


RECORDER = """
import json, sys
with open(sys.argv[1], "ab") as file:
    for line in sys.stdin.buffer:
        file.write(line)
        file.flush()
        question = json.loads(line)
        answer = {"id": question["id"], "protocol": 1}
        if question["type"] == "act":
            answer["action"] = question["legal_actions"][0]
        print(json.dumps(answer), flush=True)
"""


def test_these_lines_and_no_others_reach_it(tmp_path: Path) -> None:
    log = tmp_path / "lines"
    agent = ProcessAgent([sys.executable, "-I", "-S", "-c", RECORDER, str(log)])
    match = Match("bhoos", seed=8)
    seed = int(np.random.default_rng([8, 0, 2]).integers(2**53))
    expected = [messages.hello(), messages.reset(2, match.rules, seed)]
    with closing(agent):
        assert ask_reset(agent, 2, match.rules, np.random.default_rng([8, 0, 2]), AMPLE).fault is None
        while match.deal == 0:
            if match.seat == 2:
                view = match.view(2)
                expected.append(messages.act(view))
                assert ask(agent, view, AMPLE).action == view.legal_actions()[0]
            match.apply(match.legal_actions()[0])
    lines = log.read_bytes().splitlines(keepends=True)
    assert lines == [messages.line_of(1 + i, message) for i, message in enumerate(expected)]
    told = json.loads(lines[1])
    assert (told["seat"], told["rules"]["max_bid"], told["seed"]) == (2, 8, seed)


# The example


@pytest.fixture(scope="module")
def example() -> Iterator[ProcessAgent]:
    with closing(ProcessAgent([sys.executable, "-I", "-S", str(EXAMPLE)])) as agent:
        yield agent


@pytest.mark.parametrize("preset", PRESETS)
def test_the_example_plays_by_all_rules(preset: str, example: ProcessAgent) -> None:
    for number in range(2):
        match = Match(preset, seed=9, number=number)
        assert ask_reset(example, 0, match.rules, np.random.default_rng(1), AMPLE).fault is None
        while not match.is_over and match.deal == 0:
            answer = ask(example, match.view(match.seat or 0), AMPLE)
            assert answer.fault is None, answer
            match.apply(answer.action or 0)
    assert example.program == "external example 1"


def test_the_example_plays_well(example: ProcessAgent) -> None:
    """Better than low bids and low cards, whose seats it takes in turn."""
    lowest = make_agent("lowest")
    own, others = 0, 0
    for number in range(40):
        match = Match("single_deal", seed=10, number=number)
        own_seat = number % 4
        ask_reset(example, own_seat, match.rules, np.random.default_rng(1), AMPLE)
        while not match.is_over and match.deal == 0:
            view = match.view(match.seat or 0)
            answer = ask(example if match.seat == own_seat else lowest, view, AMPLE)
            assert answer.fault is None, answer
            match.apply(answer.action or 0)
        own += match.points[own_seat]
        others += sum(match.points) - match.points[own_seat]
    assert own / 400 > others / 1200 + 0.2, "points a deal"


def test_a_card_answers_for_a_card() -> None:
    assert messages.action_of({"id": 1, "card": "qs"}) == parse_card("QS")
    assert card_text(messages.action_of({"id": 1, "card": "10D"})) == "TD"
