"""The commands ``callbreak bench`` and ``callbreak leaderboard``: parsing and printing only.

The arena is imported when one of them runs, not for the other commands.
"""

from __future__ import annotations

import argparse
import importlib
import secrets
import sys
from pathlib import Path
from typing import Any

from callbreak_env.errors import CallBreakError

_TAKEN = {"show": ("json", "plot"), "verify": ("agents", "threads", "workers", "seed")}
"""What goes with an option that plays no benchmark."""


def add_commands(commands: Any) -> None:
    """Add both to the subparsers of ``callbreak``."""
    bench = commands.add_parser(
        "bench",
        help="run the standard benchmark: agents compared, with intervals",
        description=_bench.__doc__,
        epilog="AGENT is a name or a setting of an agent of the package (rule_based, pimc:bid=100,play=50), "
        "python:FILE.py:CLASS, policy:FILE.py:FUNCTION or 'process:COMMAND LINE'; with a label of its own as "
        "LABEL=AGENT.",
    )
    bench.add_argument(
        "agents", nargs="*", metavar="AGENT", help="what is compared; the built-in agents if absent"
    )
    size = bench.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_const", const="quick", dest="size", help="as --size quick")
    size.add_argument(
        "--size", metavar="SIZE", help="quick (500 deals), standard (10,000) or headline (50,000)"
    )
    size.add_argument("--deals", type=int, metavar="N", help="so many deals instead")
    bench.add_argument("--rules", nargs="+", metavar="PRESET", help="only these presets of standard, bhoos")
    bench.add_argument("--field", nargs="*", metavar="F", help="only these fields of F0, F1, F2")
    bench.add_argument("--no-mix", action="store_true", help="without the mix, where all of a pool meet")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write all of it (.json, or .json.gz)")
    bench.add_argument("--plot", type=Path, metavar="FILE", help="draw it: FILE.png and FILE.svg")
    bench.add_argument("--threads", type=int, metavar="N", help="for compiled agents (one for each core)")
    bench.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes, for agents that are not compiled (1)"
    )
    bench.add_argument("--time-limit", type=float, metavar="S", help="seconds a move of such agents")
    bench.add_argument("--resume", type=Path, metavar="FOLDER", help="keep deals there, and go on from there")
    instead = bench.add_mutually_exclusive_group()
    instead.add_argument(
        "--show", type=Path, metavar="FILE", help="play nothing, show a file (and --plot it)"
    )
    instead.add_argument("--verify", type=Path, metavar="FILE", help="play a random tenth of a file again")
    bench.add_argument("--seed", type=int, metavar="S", help="of the choice of --verify; drawn if absent")
    bench.set_defaults(run=_bench)

    board = commands.add_parser(
        "leaderboard", help="the benchmark's leaderboard from result files", description=_leaderboard.__doc__
    )
    board.add_argument("files", nargs="+", type=Path, metavar="FILE", help="as bench --json wrote it")
    board.add_argument("--output", type=Path, metavar="FILE", help="write it there (Markdown) and not here")
    board.set_defaults(run=_leaderboard)


def _bench(args: argparse.Namespace) -> int:
    """Compare agents by CallBreak-Bench v1: points a deal with 95 % intervals.

    Each agent sits once in each seat of the same deals, against three copies of a reference; and all meet in
    the mix. The same agents give the same numbers, anywhere.
    """
    _check_use(args)
    _check_extra("matplotlib" if args.plot is not None else None)
    from callbreak_env.arena.benchmark import run
    from callbreak_env.arena.plots import check_plot, write_plot
    from callbreak_env.arena.report_file import check_path, write_report
    from callbreak_env.arena.tables import tell_report
    from callbreak_env.arena.verification import read_checked

    if args.verify is not None:
        return _verify(args)
    if args.plot is not None:
        check_plot(args.plot)
    if args.json is not None:
        check_path(args.json)
    if args.show is not None:
        report = read_checked(args.show)
    else:
        report = run(
            args.agents or None,
            size=args.size or "standard",
            deals=args.deals,
            rules=args.rules,
            fields=args.field,
            mix=not args.no_mix,
            threads=args.threads,
            workers=args.workers,
            time_limit=args.time_limit,
            progress=sys.stderr.isatty(),
            folder=args.resume,
            say=_say,
        )
    print(tell_report(report))
    written = []
    if args.json is not None:
        write_report(args.json, report)
        written.append(args.json)
    if args.plot is not None:
        written += write_plot(args.plot, report)
    if written:
        print(f"\nwritten: {', '.join(map(str, written))}")
    return 0


def _check_use(args: argparse.Namespace) -> None:
    """ValueError for an option that would say nothing."""
    instead = next((option for option in _TAKEN if getattr(args, option) is not None), None)
    plain = {"agents": [], "no_mix": False, "workers": 1}
    for option, value in vars(args).items():
        if option in ("run", instead) or value == plain.get(option):
            continue
        name = option if option == "agents" else f"--{option.replace('_', '-')}"
        if instead is not None and option not in _TAKEN[instead]:
            raise CallBreakError(f"--{instead} takes no {name}")
        if instead is None and option == "seed":
            raise CallBreakError("--seed goes with --verify: the seed of the benchmark's deals is fixed")


def _check_extra(*more: str | None) -> None:
    """ValueError unless what the arena needs can be imported."""
    missing = []
    for name in filter(None, ("cloudpickle", "scipy", "tqdm", *more)):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise CallBreakError(f'this needs {", ".join(missing)}: pip install "callbreak-env[arena]"')


def _verify(args: argparse.Namespace) -> int:
    from callbreak_env.arena.verification import verify

    seed = secrets.randbits(32) if args.seed is None else args.seed
    count = verify(
        args.verify,
        args.agents,
        seed=seed,
        threads=args.threads,
        workers=args.workers,
        progress=sys.stderr.isatty(),
        say=lambda line: print(line, flush=True),
    )
    print(f"{args.verify}: {count:,} deals played again in all their seatings, every number equal")
    return 0


def _leaderboard(args: argparse.Namespace) -> int:
    """Make the leaderboard from result files of standard size or larger, each checked."""
    _check_extra()
    from callbreak_env.arena.leaderboard import leaderboard

    text = leaderboard(args.files)
    if args.output is None:
        print(text, end="")
    else:
        args.output.write_text(text, encoding="utf-8")
        print(f"written: {args.output}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
