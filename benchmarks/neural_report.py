"""What a network learned, in figures and pictures: its bids, how they come out, and where it gains.

python benchmarks/neural_report.py [--weights PATH] [--deals 2000] [--history docs/data/{ppo,dmc}_*.csv]

Prints tables in Markdown, for docs/learning.md, and draws neural_bids.png and neural_curves.png.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from callbreak_env import Match, make_agent
from callbreak_env.agents.compiled import KeyedAgent
from callbreak_env.agents.neural import NeuralAgent
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.figures import challenge
from callbreak_env.arena.formats import challenger, four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.cards import hand_text
from callbreak_env.checks import check_count
from callbreak_env.engine.state import BIDDING

PRESETS = ("standard", "bhoos")
ROOT = Path(__file__).resolve().parent.parent
SEED = 31_000_000
"""Of the deals, and the next one; no other script uses them."""
JUDGE = "pimc:bid=200,play=150,draws=20,enumerate=200"
PHASES = {
    "bid": (14, 14),
    "13-9 cards": (13, 9),
    "8-6 cards": (8, 6),
    "5-4 cards": (5, 4),
    "3-2 cards": (3, 2),
}
"""Cards in the hand, from and to; 14: bidding."""


class Halves(KeyedAgent):
    """An agent that bids as one and plays as another."""

    def __init__(self, bidder: Any, player: Any, name: str) -> None:
        super().__init__(name)
        self._bidder, self._player = bidder, player

    def act_tables(self, tables: Any, rules: Any, threads: int | None = 1) -> Any:
        """For many."""
        actions = np.empty(len(tables), np.int64)
        bids = tables["phase"] == BIDDING
        for chosen, agent in ((bids, self._bidder), (~bids, self._player)):
            if chosen.any():
                actions[chosen] = agent.act_tables(tables[chosen], rules, threads)
        return actions


def swapped(net: Any, deals: int) -> None:
    """A table: who bids and who plays, among three rule-based agents."""
    usual = make_agent("rule_based")
    print("\n| rules | bids | plays | gain | mean bid | made |\n|---|---|---|---|---|---|")
    for preset in PRESETS:
        for bidder, player in ((net, net), (net, usual), (usual, net)):
            agent = Halves(bidder, player, "halves")
            results = play(
                challenger("halves", "rule_based"), [agent, "rule_based"], preset, seed=SEED, deals=deals
            )
            found = challenge(results, "halves", "rule_based")
            gain, figures = found.gain, found.figures
            assert gain is not None
            names = ("network" if half is net else "`rule_based`" for half in (bidder, player))
            print(
                f"| {preset} | {' | '.join(names)} | {gain.mean:+.3f} ({gain.low:+.3f}..{gain.high:+.3f}) | "
                f"{figures.bid.mean:.2f} | {figures.made.mean:.1%} |"
            )


class Judged(KeyedAgent):
    """An agent whose decisions a search judges; it does what the first of some players would.

    Attributes:
        regrets: by phase of the deal, of each player: points that the judge thinks its actions cost.
    """

    def __init__(self, players: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._players = players
        self._judge = make_agent(JUDGE)
        self.regrets = {phase: dict.fromkeys(players, 0.0) for phase in PHASES}

    def act_tables(self, tables: Any, rules: Any, threads: int | None = 1) -> Any:
        """For many."""
        values = self._judge.action_values(tables, rules, threads)
        told = ~np.isnan(values).all(1)
        best, worst = np.zeros(len(tables)), np.zeros(len(tables))
        best[told], worst[told] = np.nanmax(values[told], 1), np.nanmin(values[told], 1)
        left = np.where(tables["phase"] == BIDDING, 14, 13 - tables["trick_no"])
        others = tables.copy()
        others["seed"] += 1  # a search must not see the judge's own worlds
        done = {name: player.act_tables(others, rules, threads) for name, player in self._players.items()}
        for name, actions in done.items():
            value = values[np.arange(len(tables)), actions]
            value = np.where(np.isnan(value), worst - 0.5, value)  # a bid that the judge would not try
            for phase, (most, least) in PHASES.items():
                here = told & (left <= most) & (left >= least)
                self.regrets[phase][name] += float((best - value)[here].sum())
        return next(iter(done.values()))


def regrets(net: Any, deals: int) -> None:
    """A table: what a search of many worlds thinks that the decisions of a deal cost, by phase.

    Its own decisions, of other worlds, show how much of that is its noise.
    """
    players = {
        "network": net,
        "its network alone": NeuralAgent(net.weights),
        "the judge, other worlds": make_agent(JUDGE),
        "`rule_based`": make_agent("rule_based"),
    }
    print(f"\n| rules | | {' | '.join(PHASES)} | all |\n|---|---|{'---|' * (len(PHASES) + 1)}")
    for preset in PRESETS:
        agent = Judged(players, "judged")
        schedule = challenger("judged", "rule_based", field_table=False)
        play(schedule, [agent, "rule_based"], preset, seed=SEED + 1, deals=deals, threads=2)
        for name in players:
            costs = [agent.regrets[phase][name] / (4 * deals) for phase in PHASES]
            print(f"| {preset} | {name} | {' | '.join(f'{c:.4f}' for c in (*costs, sum(costs)))} |")


def bids(net: Any, deals: int, path: Path) -> None:
    """A picture and a table of four alike at a table: how often each bid is made, and comes home."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    panels = figure.subplots(2, len(PRESETS), sharex=True)
    print("\n| rules | four | points | mean bid | made | bids of 6 and more |\n|---|---|---|---|---|---|")
    for column, preset in enumerate(PRESETS):
        for agent, colour, shift in ((net, "tab:blue", -0.2), ("rule_based", "tab:orange", 0.2)):
            name = agent if isinstance(agent, str) else "network"
            results = play(
                four_at_a_table([name] * 4), [Entrant(agent, name)], preset, seed=SEED, deals=deals
            )
            bid, made = results.bids.ravel(), (results.tricks >= results.bids).ravel()
            print(
                f"| {preset} | {name} | {results.points.mean() / 10:.3f} | {bid.mean():.2f} | "
                f"{made.mean():.1%} | {(bid > 5).mean():.2%} |"
            )
            each = np.arange(1, 9)
            share = [(bid == b).mean() for b in each]
            panels[0, column].bar(each + shift, share, 0.4, color=colour, label=name)
            often = [b for b in each if (bid == b).sum() >= 30]
            rate = [made[bid == b].mean() for b in often]
            error = [1.96 * made[bid == b].std() / (bid == b).sum() ** 0.5 for b in often]
            panels[1, column].errorbar(
                np.array(often) + shift / 2, rate, error, fmt="o", color=colour, capsize=2
            )
        panels[0, column].set(title=preset, ylabel="share of the bids", yscale="log")
        panels[1, column].set(xlabel="bid", ylabel="share made", ylim=(0.5, 1.02))
        panels[0, column].legend()
    figure.savefig(path, dpi=110)


def hands(net: Any, count: int) -> None:
    """A table of hands dealt: what each bids, where they differ and where not."""
    usual = make_agent("rule_based")
    print("\n| hand | seats that bid before | `rule_based` | network |\n|---|---|---|---|")
    shown = {True: 0, False: 0}
    for number in range(1000):
        match = Match("standard", seed=SEED, number=number)
        before: list[int] = []
        while len(before) < 4:
            view = match.view(match.seat)
            one, other = usual.act(view), net.act(view)
            if shown[one != other] < count // 2:
                shown[one != other] += 1
                told = " ".join(map(str, before)) or "-"
                print(f"| {hand_text(view.hand)} | {told} | {one - 51} | {other - 51} |")
            before.append(one - 51)
            match.apply(one)
        if min(shown.values()) >= count // 2:
            break


def curves(files: list[Path], path: Path) -> None:
    """A picture: gain over three rule-based agents by decisions of self-play, for each history.csv."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    panels = figure.subplots(1, len(PRESETS), sharey=True)
    for file in files:
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        for panel, preset in zip(panels, PRESETS, strict=True):
            told = [row for row in rows if row.get(f"{preset}_gain")]
            x = np.array([float(row["decisions"]) / 1e6 for row in told])
            y = np.array([float(row[f"{preset}_gain"]) for row in told])
            low, high = (np.array([float(row[f"{preset}_{end}"]) for row in told]) for end in ("low", "high"))
            (line,) = panel.plot(x, y, marker=".", label=file.stem)
            panel.fill_between(x, low, high, color=line.get_color(), alpha=0.15)
            panel.set(title=preset, xlabel="millions of decisions in self-play")
    for panel in panels:
        panel.axhline(0, color="black", linewidth=0.8)
        panel.set_ylim(-1.1, 0.25)  # untrained ones lose three to eight
    panels[0].set_ylabel("gain over three rule_based, points a deal")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, measure, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--weights", help="instead of the package's own")
    parser.add_argument("--deals", type=int, default=2000)
    parser.add_argument(
        "--regret-deals", type=int, default=0, help="of a table of regrets: 1000 take a minute"
    )
    parser.add_argument("--history", type=Path, nargs="*", default=[], help="history.csv files, named by run")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    args = parser.parse_args(arguments)
    try:
        check_count(args.deals, "--deals", 2)
        check_count(args.regret_deals, "--regret-deals", 0)
        net = make_agent("neural" if args.weights is None else f"neural:weights={args.weights}")
        for file in args.history:
            file.open().close()
        args.out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from error
    print(f"{args.deals} deals of seed {SEED}; intervals 95 %, by a bootstrap over deals")
    bids(net, args.deals, args.out / "neural_bids.png")
    swapped(net, args.deals)
    hands(net, 12)
    if args.regret_deals:
        regrets(net, args.regret_deals)
    if args.history:
        curves(args.history, args.out / "neural_curves.png")


if __name__ == "__main__":
    main()
