"""An agent that is a program of its own, in any language: JSON lines on stdin and stdout (docs/agents.md).

An arena starts it: ``process:python examples/external_agent.py`` names it there.
"""

import json
import sys
from typing import Any

Question = dict[str, Any]


def rank(card: str) -> int:
    """0 for a two, 12 for an ace."""
    return "23456789TJQKA".index(card[0])


def bid(question: Question) -> int:
    """Aces and kings, and a trick for each spade beyond three, less one for bad luck."""
    hand = question["hand"]
    spades = sum(card[1] == "S" for card in hand)
    tricks = sum(card[0] in "AK" for card in hand) + max(0, spades - 3) - 1
    return min(max(tricks, question["legal"][0]), question["legal"][-1])


def play(question: Question) -> str:
    """Until the bid is home: sure winners, else the cheapest card that wins so far; then the weakest card."""
    seat, trump, trick = question["seat"], question["trump"], [card for _, card in question["trick"]]
    led = trick[0][1] if trick else None
    unseen = {card for other in range(4) if other != seat for card in question["may_hold"][other]}

    def strength(card: str) -> tuple[bool, bool, int]:
        return card[1] == trump, card[1] == led, rank(card)

    def highest(card: str) -> bool:
        return all(other[1] != card[1] or rank(other) < rank(card) for other in unseen)

    cards = sorted(question["legal"], key=strength)
    winning = [card for card in cards if all(strength(card) > strength(other) for other in trick)]
    if question["tricks_won"][seat] >= question["bids"][seat] or not winning:
        return cards[0]
    if not trick:
        return next(filter(highest, cards), cards[0])
    return winning[-1] if len(trick) < 3 and highest(winning[-1]) and winning[-1][1] == led else winning[0]


for line in sys.stdin:
    question = json.loads(line)
    answer: dict[str, Any] = {"id": question["id"]}  # whatever it is, the answer has its id
    if question["type"] == "hello":
        answer |= {"protocol": 1, "name": "external example 1"}
    elif question["type"] == "act" and question["phase"] == "bidding":
        answer["bid"] = bid(question)
    elif question["type"] == "act":
        answer["card"] = play(question)
    print(json.dumps(answer), flush=True)  # unless it is flushed, nobody hears it
