"""The command ``callbreak``: parsing and printing only."""

from __future__ import annotations

import argparse
import io
import itertools
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from callbreak_env.actions import BID_OFFSET, MAX_BID, NUM_ACTIONS
from callbreak_env.bhoos import is_bhoos, read_bhoos
from callbreak_env.cards import NUM_CARDS, card_symbol
from callbreak_env.checks import MAX_SEED
from callbreak_env.cli_bench import add_commands
from callbreak_env.errors import RecordError
from callbreak_env.match import Match
from callbreak_env.observation import (
    HISTORY_WIDTH,
    LAYOUT_VERSION,
    MAX_EVENTS,
    WIDTH,
    field_table,
    layout_digest,
)
from callbreak_env.records import MAX_BYTES, parse_json, read_records, write_records
from callbreak_env.rules import PRESETS, Rules, describe_rules
from callbreak_env.simulation import Simulation, uniform_match
from callbreak_env.story import tell_bhoos, tell_match
from callbreak_env.text import aligned

_CHUNK = 1000
_PROGRESS_EVERY_S = 2.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 1 for a record that is wrong, 2 for bad use."""
    args = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show ♠ shows ?
    try:
        return int(args.run(args))
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("callbreak: stopped", file=sys.stderr)
        return 130
    except RecordError as error:
        print(f"callbreak: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"callbreak: {where}{error.strerror}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"callbreak: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="callbreak", description="Call Break: compare agents, simulate, replay, describe."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    simulate = commands.add_parser(
        "simulate", help="play matches by the uniform agent and sum them up", description=_simulate.__doc__
    )
    simulate.add_argument("--matches", type=_positive, default=1000, metavar="N", help="how many (1000)")
    simulate.add_argument(
        "--rules", choices=PRESETS, default="standard", metavar="PRESET", help="preset name"
    )
    simulate.add_argument(
        "--seed", type=_seed, metavar="S", help="0 to 2**63 - 1; drawn and printed if absent"
    )
    simulate.add_argument(
        "--record", type=Path, metavar="FILE", help="write every match to FILE (JSON Lines)"
    )
    simulate.set_defaults(run=_simulate)

    replay = commands.add_parser(
        "replay", help="tell recorded matches trick by trick, or verify them", description=_replay.__doc__
    )
    replay.add_argument("file", type=Path, metavar="FILE", help="JSON Lines, or a Bhoos match history (JSON)")
    replay.add_argument("--verify", action="store_true", help="only check every move and figure")
    replay.add_argument("--match", type=_positive, metavar="K", help="only match K of the file, from 1")
    replay.set_defaults(run=_replay)

    describe = commands.add_parser(
        "describe", help="the action and observation tables", description=_describe.__doc__
    )
    describe.set_defaults(run=_describe)

    rules = commands.add_parser("rules", help="a preset's rules in words", description=_rules.__doc__)
    rules.add_argument("preset", nargs="?", choices=PRESETS, metavar="PRESET", help="all presets if absent")
    rules.set_defaults(run=_rules)

    add_commands(commands)
    return parser


def _positive(text: str) -> int:
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def _seed(text: str) -> int:
    number = _whole(text)
    if not 0 <= number <= MAX_SEED:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**63 - 1, not {number}")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r:.40}") from None


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first ``left`` columns are text, the others right-aligned."""
    print("\n".join(aligned(head, rows, left)))


def _simulate(args: argparse.Namespace) -> int:
    """Play whole matches by four uniform agents. The same seed gives the same matches, anywhere."""
    if args.record is None:
        return _simulate_to(args, None)
    # Opened before the work, so that it is not lost; beside the target, so that a stop spoils no file.
    whole = not args.record.exists() or args.record.is_file()
    target = args.record.with_name(args.record.name + ".part") if whole else args.record
    with target.open("w", encoding="utf-8") as file:
        status = _simulate_to(args, file)
    if whole:
        target.replace(args.record)
    return status


def _simulate_to(args: argparse.Namespace, file: TextIO | None) -> int:
    seed = secrets.randbits(63) if args.seed is None else args.seed
    simulation = Simulation(PRESETS[args.rules], seed)
    print(f"preset {args.rules}, seed {seed}, {args.matches:,} matches by the uniform agent", flush=True)
    Simulation(simulation.rules, seed).play(1)  # compiles, so that the time below is that of playing
    started = said = time.monotonic()
    while simulation.matches < args.matches:
        simulation.play(min(_CHUNK, args.matches - simulation.matches))
        if time.monotonic() - said > _PROGRESS_EVERY_S:
            said = time.monotonic()
            _progress("played", simulation.matches, args.matches)
    seconds = time.monotonic() - started
    print(simulation.story())
    actions = int(simulation.counts[0])
    print(f"{actions:,} actions in {seconds:.2f} s ({actions / seconds:,.0f} a second)")
    print()
    _table(
        ("seat", "mean total, 95 %", "victories", "mean bid", "bids made"),
        (
            (
                str(row["seat"]),
                f"{row['mean_total']:.2f} ± {row['half_width']:.2f}",
                f"{row['victories']:.1%}",
                f"{row['mean_bid']:.2f}",
                f"{row['made']:.1%}",
            )
            for row in simulation.summary()
        ),
    )
    if file is not None:
        count = write_records(file, _recorded(simulation.rules, seed, args.matches))
        print(f"\n{count:,} matches written to {args.record}")
    return 0


def _recorded(rules: Rules, seed: int, matches: int) -> Iterator[Match]:
    said = time.monotonic()
    for number in range(matches):
        yield uniform_match(rules, seed, number)
        if time.monotonic() - said > _PROGRESS_EVERY_S:
            said = time.monotonic()
            _progress("recorded", number + 1, matches)


def _progress(verb: str, done: int, of: int) -> None:
    print(f"{verb} {done:,} of {of:,} matches", file=sys.stderr, flush=True)


def _replay(args: argparse.Namespace) -> int:
    """Replay recorded matches through the engine: every move checked, every figure compared."""
    with args.file.open("rb") as file:
        if _holds_bhoos(file):
            return _replay_bhoos(args)
        return _replay_records(args, file)


def _replay_records(args: argparse.Namespace, file: BinaryIO) -> int:
    count = 0
    for match in itertools.islice(read_records(file), args.match):
        count += 1
        if args.verify or (args.match is not None and count < args.match):
            continue
        print(f"Match {count}: seed {match.seed}, match {match.number} of that seed")
        print("\n".join(f"  {line}" for line in describe_rules(match.rules)) + "\n")
        print("\n".join(tell_match(match)) + "\n")
    if count == 0:
        raise RecordError(f"{args.file} holds no match")
    if args.match is not None and count < args.match:
        raise ValueError(f"{args.file} has {count} matches: there is no match {args.match}")
    if args.verify:
        print(f"{args.file}: {count:,} matches, every move legal, every figure right")
    return 0


def _holds_bhoos(file: BinaryIO) -> bool:
    """Whether a file is one match history of the bot tournament rather than JSON Lines (as a pipe is)."""
    if not file.seekable():
        return False
    data = file.read(MAX_BYTES + 1)
    file.seek(0)
    if len(data) > MAX_BYTES or b'"rounds"' not in data:
        return False
    try:
        return is_bhoos(parse_json(data))
    except RecordError:
        return False


def _replay_bhoos(args: argparse.Namespace) -> int:
    if args.match not in (None, 1):
        raise ValueError(f"{args.file} has 1 match: there is no match {args.match}")
    match = read_bhoos(args.file)
    if not match.deals:
        raise RecordError(f"{args.file} holds no deal")
    if not args.verify:
        print("\n".join(tell_bhoos(match)))
    moves = sum(len(deal.moves) for deal in match.deals)
    illegal = sum(len(deal.illegal) for deal in match.deals)
    differ = sum(deal.points != deal.recorded_points for deal in match.deals)
    print(
        f"{args.file}: {len(match.deals)} deals, {moves} cards, {illegal} illegal; "
        f"points differ from the recorded ones in {differ} deals"
    )
    return 0 if match.agrees else 1


def _describe(args: argparse.Namespace) -> int:
    """Print the map of action ids and the layout of the observations."""
    print(f"Actions: Discrete({NUM_ACTIONS}), in the mask 1 = legal\n")
    rows = [
        (f"{first}-{first + 12}", f"play {card_symbol(first)} ... {card_symbol(first + 12)}")
        for first in range(0, NUM_CARDS, 13)
    ]
    rows.append((f"{BID_OFFSET + 1}-{BID_OFFSET + MAX_BID}", f"bid 1 ... bid {MAX_BID}"))
    _table(("id", "action"), rows, left=2)
    print(
        f"\nObservation, encoding 'flat': float32 ({WIDTH},) in [-1, 1]; layout {LAYOUT_VERSION}, "
        f"digest {layout_digest()}"
    )
    print("Rows of 4 are seats, own first, then counter-clockwise; rows of 3 the other seats.\n")
    _table(("field", "slots", "shape", "scale", "meaning"), field_table(), left=5)
    print(
        f"\nObservation, encoding 'history': int16 ({HISTORY_WIDTH},): 13 slots of own cards held, then "
        f"{MAX_EVENTS} pairs\n(seat counted from own, action id) of this deal's bids and cards in order; -1 "
        "where there is nothing."
    )
    return 0


def _rules(args: argparse.Namespace) -> int:
    """Tell a preset's rules in words; the numbers are clauses of the rules page."""
    for name in [args.preset] if args.preset else PRESETS:
        print(f"{name}:")
        print("\n".join(f"  {line}" for line in describe_rules(PRESETS[name])))
    return 0
