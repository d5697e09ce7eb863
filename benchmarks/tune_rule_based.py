"""How the numbers of the rule-based policy were found; and how good they are.

    python benchmarks/tune_rule_based.py [--start FILE] [--rounds 3] [--minutes 10] [--seed 1] [--save FILE]
    python benchmarks/tune_rule_based.py --check [benchmarks/rule_based_first.txt ...]

A round has two parts, on deals of seeds below 10**7, which no benchmark uses, half of them by the standard
rules, half by the Bhoos tournament's:

1. Tables. The policy plays 100,000 deals of each against itself. The tricks its hands took are fitted by
   least squares (ridge 5) to the entries of the tables that the hands pick.
2. Single numbers. One or two are moved at random. A move is kept if it pays: the mean points of one such
   player among three of the round's first version, over four seats of the same deals, plus the mean points
   of four such players, both against the best so far, by more than two standard errors on 7,000 fresh deals
   (after a first look at 1,200). The second term is there because what wins a trick from another is not
   always what makes the own bid: the first alone found players that spoil each other's bids.

The shipped numbers: three rounds of some ten minutes, with `--start benchmarks/rule_based_first.txt` (whose
single numbers are guessed, and its tables fitted), by a forerunner of this script whose first round had only
the first term; BREAK was set by hand, as it moves no mean. Time bounds a round, so that each machine ends at
other numbers: judge them by --check.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.engine import rule_based
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.playouts import last_deal
from callbreak_env.engine.rule_based import PARAMETERS, rule_based_action
from callbreak_env.engine.state import DEAL_END, NO_DECKS, NONE, TABLE, Array, rules_record
from callbreak_env.rules import PRESETS

PRESETS_USED = ("standard", "bhoos")
FIRST_SINGLE = rule_based.EARLIER_BID
FIXED = (rule_based.EARLIER_BID, rule_based.USUAL_BID, rule_based.SHADE, rule_based.PARTNER_SPREAD)
Numbers = npt.NDArray[np.float64]


@kernel(nogil=True)
def play_deals(
    tables: Array,
    rules: Array,
    seed: int,
    one: Array,
    three: Array,
    rotations: int,
    hands: Array,
    order: Array,
    points: Array,
    bids: Array,
    tricks: Array,
) -> None:
    """The first deals of matches 0 ... D - 1, with the player ``one`` in seat r of rotation r.

    ``hands``, ``order`` (0 for who bids first): [D, 4]; ``points`` (tenths), ``bids``, ``tricks``: [D, R, 4].
    """
    table = tables[0]
    last = rules.copy()
    for d in range(len(points)):
        for r in range(rotations):
            start_match(table, rules[0], NO_DECKS, np.uint64(seed), np.uint64(d), NONE)
            last_deal(table, last)
            for seat in range(4):
                hands[d, seat] = table["hands"][seat]
                order[d, seat] = (seat - int(table["leader"])) & 3
            happened = 0
            while not happened & DEAL_END:
                mine = one if int(table["seat"]) == r else three
                action = rule_based_action(table, rules[0], legal_word(table, rules[0]), mine)
                happened = step(table, last[0], NO_DECKS, action)
            for seat in range(4):
                points[d, r, seat] = table["points"][seat]
                bids[d, r, seat] = table["bids"][seat]
                tricks[d, r, seat] = table["tricks_won"][seat]


def play(preset: str, seed: int, deals: int, one: Numbers, three: Numbers, rotations: int) -> list[Any]:
    """``play_deals`` with arrays of its own: hands, order, points, bids, tricks."""
    out = [np.zeros((deals, 4), np.uint64), np.zeros((deals, 4), np.int64)]
    out += [np.zeros((deals, rotations, 4), np.int64) for _ in range(3)]
    play_deals(np.zeros(1, TABLE), rules_record(PRESETS[preset]), seed, one, three, rotations, *out)
    return out


def among(preset: str, seed: int, deals: int, one: Numbers, three: Numbers) -> Numbers:
    """[D] own points of ``one`` among three ``three``, mean of the four seats."""
    points = play(preset, seed, deals, one, three, 4)[2]
    return points[:, np.arange(4), np.arange(4)].mean(axis=1) / 10


def alone(preset: str, seed: int, deals: int, player: Numbers) -> Numbers:
    """[D] points of four such players, mean of the four seats."""
    return play(preset, seed, deals, player, player, 1)[2][:, 0].mean(axis=1) / 10


def fit_tables(player: Numbers, seed: int, deals: int = 100_000) -> Numbers:
    """Part 1 of a round."""
    width = FIRST_SINGLE + 1
    gram, right = 5.0 * np.eye(width), np.zeros(width)
    for preset in PRESETS_USED:
        hands, order, _, bids, tricks = play(preset, seed, deals, player, player, 1)
        cards, rows = hands.ravel(), np.arange(hands.size)
        picked = np.zeros((hands.size, width))
        trumps = cards >> np.uint64(39)
        length = np.bitwise_count(trumps).astype(int)
        picked[rows, rule_based.TRUMP_LENGTH + np.minimum(length, 9)] = 1
        picked[rows, rule_based.TRUMP_HONOURS + (trumps >> np.uint64(9)).astype(int)] = 1
        for suit in range(3):
            plain = cards >> np.uint64(13 * suit) & np.uint64(0x1FFF)
            n = np.bitwise_count(plain).astype(int)
            honours = (plain >> np.uint64(10)).astype(int)
            np.add.at(picked, (rows, rule_based.PLAIN + 8 * np.minimum(n, 6) + honours), 1)
            np.add.at(picked, (rows, rule_based.RUFFS + 7 * np.minimum(n, 2) + np.minimum(length, 6)), 1)
        above = bids[:, 0] - player[rule_based.USUAL_BID]
        earlier = [(above * (order < order[:, [seat]])).sum(axis=1) for seat in range(4)]
        picked[:, rule_based.EARLIER_BID] = np.stack(earlier, axis=1).ravel()
        gram += picked.T @ picked
        right += picked.T @ (tricks.ravel() - 3.25)
    fitted = player.copy()
    fitted[:width] = np.linalg.solve(gram, right)
    # One way of many to write the same sums: hands without trump honours stand at 0 in their table.
    bare = fitted[rule_based.TRUMP_HONOURS]
    fitted[rule_based.TRUMP_HONOURS : rule_based.RUFFS] -= bare
    fitted[rule_based.TRUMP_LENGTH : rule_based.TRUMP_HONOURS] += 3.25 + bare
    return fitted


def climb(player: Numbers, seed: int, minutes: float) -> Numbers:
    """Part 2 of a round."""
    rng = np.random.default_rng(seed)
    field, best = player.copy(), player.copy()
    steps = np.maximum(np.abs(player) / 2, 0.08)
    free = [i for i in range(FIRST_SINGLE, len(player)) if i not in FIXED]
    end, deals_seed = time.monotonic() + 60 * minutes, 100_000 * seed

    def better(new: Numbers, deals: int, errors: float) -> bool:
        nonlocal deals_seed
        deals_seed += 1
        value = np.zeros(deals)
        for preset in PRESETS_USED:
            value += among(preset, deals_seed, deals, new, field) - among(
                preset, deals_seed, deals, best, field
            )
            value += alone(preset, deals_seed, deals, new) - alone(preset, deals_seed, deals, best)
        return bool(value.mean() > errors * value.std() / np.sqrt(deals) and value.mean() > 0)

    while time.monotonic() < end:
        i = int(rng.choice(free))
        new = best.copy()
        new[i] += rng.choice([-1, 1]) * steps[i] * rng.uniform(0.3, 1.5)
        if rng.random() < 0.25:
            j = int(rng.choice(free))
            new[j] += rng.normal() * steps[j] / 2
        if better(new, 1200, 0.8) and better(new, 7000, 2.0):
            best = new
            steps[i] *= 1.2
            print(f"  {names()[i]} {best[i]:.3f}", flush=True)
        else:
            steps[i] *= 0.94
    return best


def names() -> dict[int, str]:
    """The single numbers' names by their places."""
    found = {value: name for name, value in vars(rule_based).items() if name.isupper() and type(value) is int}
    return {i: found[i] for i in range(FIRST_SINGLE, len(PARAMETERS))}


def check(players: dict[str, Numbers], seed: int = 9_000_001, deals: int = 50_000) -> None:
    """Print how each does alone, and among three of each other, with 95 % half widths."""
    print(f"points a deal, {deals:,} deals of seed {seed}, half widths of 95 %")
    for preset in PRESETS_USED:
        for name, player in players.items():
            values = {"alone": alone(preset, seed, deals, player)}
            for other, three in players.items():
                if other != name:
                    values[f"among {other}"] = among(preset, seed, deals, player, three)
            told = (
                f"{what} {v.mean():.3f} ± {1.96 * v.std() / deals**0.5:.3f}" for what, v in values.items()
            )
            print(f"{preset:9} {name}: {', '.join(told)}")


def main() -> None:
    """Tune, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--start", type=Path, metavar="FILE", help="numbers to start from; else the shipped")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10.0, help="of part 2 of each round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="write the numbers there, one a line")
    parser.add_argument(
        "--check", nargs="*", type=Path, metavar="FILE", help="tune nothing, play files' numbers"
    )
    args = parser.parse_args()
    if args.check is not None:
        check({"shipped": PARAMETERS, **{path.stem: np.loadtxt(path) for path in args.check}})
        return
    player = PARAMETERS.copy() if args.start is None else np.loadtxt(args.start)
    for number in range(args.rounds):
        print(f"round {number}, seed {args.seed + number}", flush=True)
        player = fit_tables(player, 991 + number)
        player = climb(player, args.seed + number, args.minutes)
        if args.save is not None:
            np.savetxt(args.save, player, fmt="%.3f")
    check({"shipped": PARAMETERS, "tuned": player})
    print(np.array2string(player, precision=3, separator=", ", max_line_width=100))


if __name__ == "__main__":
    main()
