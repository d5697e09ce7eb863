"""The rule-based policy: what a good teacher would say, compiled.

Bids: count the tricks that the hand should take, from tables by suit length and honours; earlier bids that
are high or low correct the count; then bid what pays best on average, by the rules' own scoring, if the
tricks that come are spread about the count. So a bid is shaded, as a miss costs the whole bid and an
overtrick pays a tenth, and bonus bids, bid limits and partners come by themselves.

Plays: each candidate card is worth its chance to win the trick, less what it would be worth later; once the
bid is home, taking a trick from a seat that still needs it is worth something. A lead is judged besides by
what it prepares: empty a short suit; cash plain masters while they are safe, sooner the fewer cards of the
suit are out; draw trumps with many, keep them with few. Who is void is known from ``may_hold``.

The numbers were fitted to deals that no benchmark uses: ``benchmarks/tune_rule_based.py``.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import highest_bit, inlined, kernel, lowest_bit, popcount
from callbreak_env.engine.legality import BIDS_FLAG
from callbreak_env.engine.play import r11_beats
from callbreak_env.engine.scoring import r12_r13_points
from callbreak_env.engine.state import (
    ABOVE,
    ALL_CARDS,
    NEXT_SEAT,
    NONE,
    SUIT_OF,
    SUIT_SETS,
    Array,
    CardSet,
    Record,
)

# fmt: off
_PLAIN = [  # tricks of a plain suit, by length 0 to 6 (or more), and honours: -, Q, K, KQ, A, AQ, AK, AKQ
    -0.10,  0.00,  0.00,  0.00,  0.00,  0.00,  0.00,  0.00,
    -0.28, -0.28, -0.28,  0.00,  0.76,  0.00,  0.00,  0.00,
    -1.08, -1.04, -0.38, -0.20, -0.06,  0.21,  0.87,  0.00,
    -1.08, -0.86, -0.39, -0.05, -0.05,  0.35,  0.72,  1.08,
    -0.80, -0.63, -0.19,  0.04,  0.18,  0.51,  0.84,  1.09,
    -0.51, -0.41, -0.02,  0.07,  0.44,  0.66,  0.95,  1.12,
    -0.26, -0.17,  0.05,  0.12,  0.64,  0.78,  0.98,  1.06,
]
_TRUMP_LENGTH = [  # tricks of the trumps, by length 0 to 9 (or more)
     1.48,  1.74,  1.97,  2.23,  2.49,  2.77,  1.19,  2.10,  2.94,  3.75,
]
_TRUMP_HONOURS = [  # the same, by honours: -, J, Q, QJ, K, KJ, KQ, KQJ, then those with the ace
     0.00,  0.19,  0.39,  0.63,  0.67,  0.99,  1.14,  1.40,
     0.89,  1.19,  1.41,  1.66,  1.74,  2.13,  2.45,  2.65,
]
_RUFFS = [  # tricks for each plain suit of length 0, 1, 2 (or more), by the number of trumps 0 to 6 (or more)
    -1.20, -0.77, -0.48, -0.09,  0.28,  0.64,  1.52,
    -0.94, -0.62, -0.28, -0.05,  0.16,  0.41,  1.25,
     0.23,  0.24,  0.32,  0.47,  0.67,  0.90,  1.74,
]
_SINGLE = [
     -0.069,  # EARLIER_BID: a trick promised before, above or below the usual
      2.700,  # USUAL_BID: a bid
      1.000,  # SPREAD: of the tricks about the count
      0.550,  # SHADE: by which bids are below the count
      1.400,  # PARTNER_SPREAD: of a side's tricks, to that of one seat's
      0.964,  # WIN: winning the trick
      0.533,  # WIN_HOME: factor of it once the bid is home
      0.100,  # BREAK: once the bid is home, winning it from a seat that still needs it
      0.333,  # KEEP_MASTER: a plain card that nothing unseen beats
      0.347,  # KEEP_SECOND: one with a single card above it, guarded
     -0.007,  # KEEP_GUARD: the card that guards such a one
      0.021,  # KEEP_RANK: a rank of a plain card
     -0.161,  # KEEP_LONG: a card of its suit
      0.484,  # KEEP_TRUMP: a trump
      0.186,  # KEEP_TRUMP_RANK: a rank of a trump
      0.300,  # KEEP_TRUMP_MASTER: a trump that nothing unseen beats
      0.300,  # LEAD_MASTER: to cash a plain master
      0.700,  # LEAD_MASTER_SAFE: times its chance to win
     -0.126,  # LEAD_MASTER_OUT: an unseen card of its suit
      0.493,  # LOW_SINGLE: the last card of a plain suit
      0.088,  # LOW_DOUBLE: the lower of two
      0.182,  # LOW_LONG: the lowest of more
      0.214,  # LOW_UNDER_SECOND: from under a card that one unseen card beats
     -0.300,  # LOW_UNDER_MASTER: from under a master
      0.233,  # TRUMP_MASTER: the highest trump of all
      0.083,  # TRUMP_MASTER_LONG: a trump above a third of those unseen
      0.084,  # TRUMP_MASTER_MASTERS: a plain suit to cash afterwards
      0.028,  # TRUMP_MASTER_LAST: if nobody else has one
     -0.100,  # TRUMP_LOW: a low trump
     -0.037,  # TRUMP_LOW_LONG: a trump above a third of those unseen
]
PLAIN, TRUMP_LENGTH, TRUMP_HONOURS, RUFFS = 0, 56, 66, 82
(
    EARLIER_BID,
    USUAL_BID,
    SPREAD,
    SHADE,
    PARTNER_SPREAD,
    WIN,
    WIN_HOME,
    BREAK,
    KEEP_MASTER,
    KEEP_SECOND,
    KEEP_GUARD,
    KEEP_RANK,
    KEEP_LONG,
    KEEP_TRUMP,
    KEEP_TRUMP_RANK,
    KEEP_TRUMP_MASTER,
    LEAD_MASTER,
    LEAD_MASTER_SAFE,
    LEAD_MASTER_OUT,
    LOW_SINGLE,
    LOW_DOUBLE,
    LOW_LONG,
    LOW_UNDER_SECOND,
    LOW_UNDER_MASTER,
    TRUMP_MASTER,
    TRUMP_MASTER_LONG,
    TRUMP_MASTER_MASTERS,
    TRUMP_MASTER_LAST,
    TRUMP_LOW,
    TRUMP_LOW_LONG,
) = range(103, 133)
# fmt: on
PARAMETERS = np.array([*_PLAIN, *_TRUMP_LENGTH, *_TRUMP_HONOURS, *_RUFFS, *_SINGLE])
"""[133] float64: all of them, in tricks."""

_0, _1 = np.uint64(0), np.uint64(1)
_SUIT = np.uint64(0x1FFF)
_NONE_OF = np.array([(2 / 3) ** n for n in range(40)])
"""[40]: the chance that one of three seats holds none of n unseen cards."""
_NEVER = -1e9


@inlined()
def unseen_cards(table: Record, own: CardSet) -> CardSet:
    """The cards that a seat has not seen."""
    unseen = ALL_CARDS & ~own
    for seat in range(4):
        unseen &= ~table["played"][seat]
    return unseen


@kernel()
def count_tricks(hand: CardSet, trump: int, parameters: Array) -> float:
    """The tricks that a hand of 13 should take among four, if a suit is trumps."""
    trumps = (hand >> np.uint64(13 * trump)) & _SUIT
    length = popcount(trumps)
    tricks = parameters[TRUMP_LENGTH + min(length, 9)]
    tricks += parameters[TRUMP_HONOURS + int(trumps >> np.uint64(9))]
    for suit in range(4):
        if suit != trump:
            cards = (hand >> np.uint64(13 * suit)) & _SUIT
            n = popcount(cards)
            tricks += parameters[PLAIN + 8 * min(n, 6) + int(cards >> np.uint64(10))]
            tricks += parameters[RUFFS + 7 * min(n, 2) + min(length, 6)]
    return float(tricks)


@kernel()
def expected_tricks(table: Record, rules: Record, seat: int, hand: CardSet, parameters: Array) -> float:
    """The tricks that a hand of 13 should take in a seat, before anybody has bid.

    H6: who leads the first trick makes the best suit trumps; the others count all four alike. R15: with
    fewer seats each has more.
    """
    if not rules["first_led"]:
        tricks = count_tricks(hand, 3, parameters)
    elif seat == int(table["leader"]):
        tricks = count_tricks(hand, best_trump_suit(hand, parameters), parameters)
    else:
        tricks = 0.0
        for trump in range(4):
            tricks += count_tricks(hand, trump, parameters) / 4
    return tricks * 4 / int(table["num_active"])


@kernel()
def best_trump_suit(hand: CardSet, parameters: Array) -> int:
    """H6: the suit that is best as trumps."""
    best, most = NONE, -100.0
    for suit in range(4):
        if hand & SUIT_SETS[suit] != _0:
            tricks = count_tricks(hand, suit, parameters)
            if tricks > most:
                best, most = suit, tricks
    return best


@kernel()
def write_bid_values(table: Record, rules: Record, parameters: Array, values: Array) -> None:
    """What each bid of the seat to act pays on average, in tenths, into ``values`` ([14] float64, by bid)."""
    seat = int(table["seat"])
    mean = expected_tricks(table, rules, seat, table["hands"][seat], parameters)
    spread = parameters[SPREAD] * 4 / int(table["num_active"])
    for other in range(4):
        if int(table["bids"][other]) > 0:
            mean += parameters[EARLIER_BID] * (int(table["bids"][other]) - parameters[USUAL_BID])
    promised = 0
    if rules["partnership"] and int(table["bids"][seat ^ 2]) > 0:  # H5: the side's tricks pay the side's bid
        promised = int(table["bids"][seat ^ 2])
        mean += promised + parameters[SHADE]
        spread *= parameters[PARTNER_SPREAD]
    at_least = np.empty(14)  # the chances of k tricks or more
    for k in range(14):
        at_least[k] = 1 / (1 + np.exp(1.702 * (k - 0.5 - mean) / spread))  # about that of a normal spread
    for bid in range(14):
        values[bid] = float(r12_r13_points(promised + bid, 0, rules))
        for k in range(1, 14):
            more = r12_r13_points(promised + bid, k, rules) - r12_r13_points(promised + bid, k - 1, rules)
            values[bid] += more * at_least[k]


@kernel()
def rule_based_bid(table: Record, rules: Record, legal: CardSet, parameters: Array) -> int:
    """The bid, among the legal ones (bit b for a bid of b), that pays best on average."""
    values = np.empty(14)
    write_bid_values(table, rules, parameters, values)
    best = lowest_bit(legal)
    while legal != _0:
        bid = lowest_bit(legal)
        legal &= legal - _1
        if values[bid] > values[best]:
            best = bid
    return int(best)


@inlined()
def _worth_keeping(card: int, own: CardSet, unseen: CardSet, trump: int, parameters: Array) -> float:
    """What a card is worth in later tricks."""
    suit = SUIT_OF[card]
    rank = card - 13 * suit
    above = unseen & ABOVE[card]
    if suit == trump:
        worth = parameters[KEEP_TRUMP] + parameters[KEEP_TRUMP_RANK] * rank
        if above == _0:
            worth += parameters[KEEP_TRUMP_MASTER]
        return float(worth)
    mine = own & SUIT_SETS[suit]
    n = popcount(mine)
    worth = parameters[KEEP_RANK] * rank + parameters[KEEP_LONG] * n
    if above == _0:
        worth += parameters[KEEP_MASTER]
    elif n >= 2 and above & (above - _1) == _0:
        worth += parameters[KEEP_SECOND]
    elif n == 2 and popcount(unseen & ABOVE[highest_bit(mine)]) == 1:
        worth += parameters[KEEP_GUARD]
    return float(worth)


@kernel()
def chance_to_win(table: Record, rules: Record, card: int, unseen: CardSet) -> float:
    """The chance that a card which is the best of the trick so far stays it.

    A seat to come beats it with a higher card of its suit, or with a (higher) trump if it is void; an unseen
    card that it may hold is with it by one chance in three.
    """
    seat, active = int(table["seat"]), int(table["active"])
    trump = int(table["trump"])
    trumps = SUIT_SETS[trump]
    suit = SUIT_OF[card]
    led = SUIT_OF[int(table["best_led"])] if int(table["in_trick"]) > 0 else suit
    chance = 1.0
    for _ in range(int(table["num_active"]) - int(table["in_trick"]) - 1):
        seat = NEXT_SEAT[active, seat]
        if rules["partnership"] and seat == int(table["seat"]) ^ 2:
            continue
        held = table["may_hold"][seat] & unseen
        void = _NONE_OF[popcount(held & SUIT_SETS[led])]
        over = 1 - _NONE_OF[popcount(held & (trumps if suit == led else ABOVE[card]))]
        if suit == trump == led:
            chance *= _NONE_OF[popcount(held & ABOVE[card])]
        elif suit == led:
            chance *= _NONE_OF[popcount(held & ABOVE[card])] * (1 - void * over)
        else:
            chance *= 1 - void * over
    return chance


@kernel()
def _follow(table: Record, rules: Record, legal: CardSet, parameters: Array) -> int:
    """The card to play to a trick."""
    seat = int(table["seat"])
    own = table["hands"][seat]
    unseen = unseen_cards(table, own)
    trump = int(table["trump"])
    winning = int(table["trick_seat"])
    partner_wins = rules["partnership"] and winning == seat ^ 2
    win = parameters[WIN]
    if int(table["tricks_won"][seat]) >= int(table["bids"][seat]):
        win *= parameters[WIN_HOME]
        if int(table["tricks_won"][winning]) < int(table["bids"][winning]):
            win += parameters[BREAK]
    best, most = NONE, _NEVER
    while legal != _0:
        card = lowest_bit(legal)
        legal &= legal - _1
        value = -_worth_keeping(card, own, unseen, trump, parameters)
        if r11_beats(table, card) and not partner_wins:
            value += win * chance_to_win(table, rules, card, unseen)
        if value > most:
            best, most = card, value
    return best


@kernel()
def _lead(table: Record, rules: Record, legal: CardSet, parameters: Array) -> int:
    """The card to lead: the best of each suit's highest and lowest."""
    seat = int(table["seat"])
    own = table["hands"][seat]
    unseen = unseen_cards(table, own)
    trump = int(table["trump"])
    if trump < 0:  # H6: this lead makes its suit trumps
        mine = own & SUIT_SETS[best_trump_suit(own, parameters)]
        top = highest_bit(mine)
        return int(top if unseen & ABOVE[top] == _0 else lowest_bit(mine))
    trumps = own & SUIT_SETS[trump]
    masters = 0
    for suit in range(4):
        mine = own & SUIT_SETS[suit]
        masters += suit != trump and mine != _0 and unseen & ABOVE[highest_bit(mine)] == _0
    best, most = NONE, _NEVER
    for suit in range(4):
        mine = legal & SUIT_SETS[suit]
        if mine == _0:
            continue
        top, low, n = highest_bit(mine), lowest_bit(mine), popcount(mine)
        above, out = popcount(unseen & ABOVE[top]), popcount(unseen & SUIT_SETS[suit])
        if suit == trump:
            longer = popcount(trumps) - out / 3
            if above == 0:
                value = parameters[TRUMP_MASTER] + parameters[TRUMP_MASTER_LONG] * longer
                value += parameters[TRUMP_MASTER_MASTERS] * masters
                value += parameters[TRUMP_MASTER_LAST] if out == 0 else 0.0
                if value > most:
                    best, most = top, value
            value = parameters[TRUMP_LOW] + parameters[TRUMP_LOW_LONG] * longer
            if value > most:
                best, most = low, value
            continue
        if above == 0:
            value = parameters[LEAD_MASTER] + parameters[LEAD_MASTER_OUT] * out
            value += parameters[LEAD_MASTER_SAFE] * chance_to_win(table, rules, top, unseen)
            if value > most:
                best, most = top, value
            if low == top:
                continue
        value = parameters[LOW_SINGLE + min(n, 3) - 1]
        value += parameters[LOW_UNDER_SECOND] if above == 1 and n > 1 else 0.0
        value += parameters[LOW_UNDER_MASTER] if above == 0 else 0.0
        if value > most:
            best, most = low, value
    return best


@kernel()
def rule_based_action(table: Record, rules: Record, word: CardSet, parameters: Array) -> int:
    """What the policy does for the seat to act, among the actions of its ``legal_word``."""
    if word >= BIDS_FLAG:
        return BID_OFFSET + rule_based_bid(table, rules, word & ~BIDS_FLAG, parameters)
    if word & (word - _1) == _0:
        return int(lowest_bit(word))
    if int(table["in_trick"]) == 0:
        return _lead(table, rules, word, parameters)
    return _follow(table, rules, word, parameters)
