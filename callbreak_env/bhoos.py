"""Match histories of the Nepali bot tournament (Bhoos): read, and replayed under the preset ``bhoos``.

One JSON object a file. Cards are rank ``23456789TJQK1`` (``1`` the ace) then suit; seats are 0-3 in play
order; ``scores`` are running totals in points, as floats; a deal cut short has nulls where cards are missing
and is scored on the tricks taken so far.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callbreak_env.actions import bid_action
from callbreak_env.cards import NUM_SEATS, parse_card
from callbreak_env.checks import check_int, check_seat
from callbreak_env.engine.state import TRICK_END
from callbreak_env.errors import IllegalAction, RecordError
from callbreak_env.match import Match, deal_points, deck_from_hands
from callbreak_env.records import MAX_BYTES, at, need, need_seats, parse_json
from callbreak_env.rules import PRESETS, Rules


@dataclass(frozen=True)
class BhoosMove:
    """One card of a deal.

    Attributes:
        trick: 1-13.
        seat: who played it.
        card: the card id.
        broken: the clause that it breaks with the reason, empty for a legal one.
        points: [4] tenths: what the deal would score if it were cut short after this card.
    """

    trick: int
    seat: int
    card: int
    broken: str
    points: tuple[int, ...]


@dataclass(frozen=True)
class BhoosDeal:
    """One deal, replayed.

    Attributes:
        dealer: seat.
        hands: as dealt, by seat.
        bids: by seat, None where there is none.
        moves: in play order; after an illegal one nothing more is replayed.
        complete: whether all 52 cards were played.
        points: [4] tenths, by the rules.
        recorded_points: [4] tenths, by the file's totals.
        server_errors: what the server noted, in words.
    """

    dealer: int
    hands: tuple[tuple[int, ...], ...]
    bids: tuple[int | None, ...]
    moves: tuple[BhoosMove, ...]
    complete: bool
    points: tuple[int, ...]
    recorded_points: tuple[int, ...]
    server_errors: tuple[str, ...]

    @property
    def illegal(self) -> tuple[BhoosMove, ...]:
        """The moves that break the rules."""
        return tuple(move for move in self.moves if move.broken)

    @property
    def agrees(self) -> bool:
        """Whether every move is legal and the points are those that the file has."""
        return not self.illegal and self.points == self.recorded_points


@dataclass(frozen=True)
class BhoosMatch:
    """One match file, replayed."""

    players: tuple[str, ...]
    deals: tuple[BhoosDeal, ...]

    @property
    def agrees(self) -> bool:
        """Whether every deal agrees with the rules."""
        return all(deal.agrees for deal in self.deals)


def is_bhoos(value: Any) -> bool:
    """Whether a JSON value looks like such a match history."""
    return isinstance(value, dict) and "players" in value and "rounds" in value


def read_bhoos(path: str | Path) -> BhoosMatch:
    """Read and replay one match history.

    Raises:
        RecordError: it is none, with the place; an illegal move is no error but reported.
        OSError: the file cannot be read.
    """
    with at(str(path)):
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise RecordError(f"longer than {MAX_BYTES:,} bytes, no match history")
        return replay_bhoos(parse_json(data))


def replay_bhoos(value: Any) -> BhoosMatch:
    """Replay a match history that has been parsed; see :func:`read_bhoos`."""
    players = need_seats(value, "players")
    if not all(isinstance(player, str) for player in players):
        raise RecordError("'players' must be four names")
    totals = (0,) * NUM_SEATS
    deals = []
    for index, entry in enumerate(need(value, "rounds", list)):
        with at(f"rounds[{index}]"):
            after = tuple(_tenths(score) for score in need_seats(entry, "scores"))
            recorded = tuple(now - before for now, before in zip(after, totals, strict=True))
            deals.append(_replay_deal(entry, recorded))
            totals = after
    return BhoosMatch(tuple(players), tuple(deals))


def _card(text: Any) -> int:
    """A card as the tournament writes it, ``1`` for the ace; ``A`` is taken too."""
    return parse_card(
        "A" + text[1:] if isinstance(text, str) and text[:1] == "1" and len(text) == 2 else text
    )


def _tenths(score: Any) -> int:
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not abs(score) < 1e6:
        raise RecordError(f"a score must be a number of points, not {score!r:.40}")
    tenths = round(score * 10)
    if abs(score * 10 - tenths) > 1e-6:
        raise RecordError(f"a score must have one decimal, not {score!r}")
    return tenths


def _replay_deal(entry: Any, recorded: tuple[int, ...]) -> BhoosDeal:
    dealer = check_seat(need(entry, "dealer", int), "dealer")
    hands = []
    for seat, hand in enumerate(need_seats(entry, "cards")):
        with at(f"cards of seat {seat}"):
            if not isinstance(hand, list):
                raise RecordError("must be a list")
            hands.append([_card(card) for card in hand])
    with at("cards"):
        deck = deck_from_hands(hands, dealer)
    match = Match(_one_deal(), seed=0, dealer=dealer, decks=[deck])
    bids = need_seats(entry, "bids")
    while match.phase == "bidding" and (bid := bids[match.seat or 0]) is not None:
        with at(f"bid of seat {match.seat}"):
            match.apply(bid_action(check_int(bid, "a bid")))
    moves = _replay_moves(match, need(entry, "actions", list))
    broken = any(move.broken for move in moves)
    return BhoosDeal(
        dealer=dealer,
        hands=tuple(tuple(sorted(hand)) for hand in hands),
        bids=tuple(match.bids),
        moves=tuple(moves),
        complete=match.is_over and not broken,
        points=tuple(deal_points(match.bids, match.tricks_won, match.rules)),
        recorded_points=recorded,
        server_errors=tuple(_server_errors(entry)),
    )


def _one_deal() -> Rules:
    return dataclasses.replace(PRESETS["bhoos"], deals=1)


def _replay_moves(match: Match, tricks: list[Any]) -> list[BhoosMove]:
    """Play the tricks until they end, are cut short by a null, or break the rules."""
    moves: list[BhoosMove] = []
    cut = False
    for index, trick in enumerate(tricks):
        with at(f"trick {index + 1}"):
            if not isinstance(trick, dict):
                raise RecordError("must be an object")
            cards = need_seats(trick, "cards")
            if cut:
                if any(card is not None for card in cards):
                    raise RecordError("cards follow a deal that was cut short")
                continue
            if match.is_over:
                raise RecordError("a deal has 13 tricks")
            started = check_seat(need(trick, "started", int), "started")
            if started != match.seat:
                raise RecordError(f"seat {started} leads, but it is for seat {match.seat}")
            happened = 0
            for place, text in enumerate(cards):
                if text is None:
                    cut = True
                    continue
                with at(f"card {place + 1}"):
                    if cut:
                        raise RecordError("a card follows a missing one")
                    card, seat = _card(text), match.seat or 0
                    broken = ""
                    try:
                        happened = match.apply(card)
                    except IllegalAction as error:
                        broken = str(error).partition(" | ")[0]
                    points = deal_points(match.bids, match.tricks_won, match.rules)
                    moves.append(BhoosMove(index + 1, seat, card, broken, tuple(points)))
                    if broken:
                        return moves
            ended = trick.get("ended")
            winner = match.last_winner if happened & TRICK_END else None
            if ended != winner or isinstance(ended, bool):
                raise RecordError(f"'ended' is {ended!r:.20}, by the rules {winner}")
    return moves


def _server_errors(entry: Any) -> list[str]:
    """What the server noted, by trick: type, place in the trick, correction."""
    notes = []
    if not isinstance(entry.get("errors", {}), dict):
        raise RecordError("'errors' must be an object")
    for trick, errors in entry.get("errors", {}).items():
        with at(f"errors of {trick!r:.20}"):
            if not isinstance(errors, list):
                raise RecordError("must be a list")
            for error in errors:
                kind, turn = need(error, "type", str), need(error, "turn", int)
                note = f"trick {trick}, turn {turn}: {kind}"
                correction = error.get("correction")
                if isinstance(correction, dict) and correction.keys() == {"prev", "next"}:
                    note += f", {correction['prev']} replaced by {correction['next']}"
                elif correction is not None:
                    note += f", correction {correction!r:.60}"
                notes.append(note)
    return notes
