"""Writes ``RESULTS.md`` and ``results.png`` beside this script from the JSON that the other scripts wrote.

    python benchmarks/throughput.py --json throughput.json
    python benchmarks/rollouts.py --json rollouts.json
    python benchmarks/compare.py --json compare.json
    python benchmarks/report.py throughput.json rollouts.json compare.json

Needs matplotlib.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import compare
import throughput
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent
SERIES = {
    "engine alone": "engine alone, batch {}",
    "self-play, masks only": "self-play no observation, batch {}",
    "self-play, int8 observations": "self-play int8, batch {}",
    "self-play, float32 observations": "self-play float32, batch {}",
    "Gymnasium vector, float32 (learner steps)": "Gymnasium vector float32, batch {}",
}
NOTES = """
What is compared with what, and how to run it again, is told at the top of each script. The machine was shared
with others: read the figures of one table as ratios to each other.
"""


def plot(rates: dict[str, Any], compared: dict[str, Any], path: Path) -> None:
    """Left: actions a second by number of tables. Right: ours beside other frameworks."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), constrained_layout=True)
    for label, pattern in SERIES.items():
        points = [
            (batch, rates[name]["median"])
            for batch in throughput.BATCHES
            if (name := pattern.format(batch)) in rates
        ]
        left.plot(*zip(*points, strict=True), marker="o", label=label)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="tables",
        ylabel="a second, one thread",
        title="Speed by batch size",
    )
    left.set_xticks(throughput.BATCHES, [f"{batch:,}" for batch in throughput.BATCHES])
    left.minorticks_off()
    left.set_yticks([1e5, 1e6, 1e7, 5e7], ["100,000", "1 million", "10 million", "50 million"])
    left.grid(alpha=0.3)
    left.legend(fontsize=8)

    bars: dict[str, tuple[float, bool]] = {}
    for ours, peer, _ in compare.RATIOS:
        if peer in compared:
            for name, mine in ((peer, False), (f"callbreak_env {ours}", True)):
                found = compare.best(ours if mine else peer, compared[peer])[1]
                bars[name] = (statistics.median(found), mine)
    ordered = sorted(bars.items(), key=lambda item: item[1][0])
    values = [value for _, (value, _) in ordered]
    right.barh(
        [name for name, _ in ordered],
        values,
        color=["tab:blue" if mine else "tab:gray" for _, (_, mine) in ordered],
    )
    right.bar_label(right.containers[0], [f"{value:,.0f}" for value in values], padding=3, fontsize=8)
    right.set(
        xscale="log", xlabel="decisions a second, one core", title="Beside other frameworks (other games)"
    )
    right.set_xlim(right=max(values) * 12)
    right.tick_params(axis="y", labelsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Write both."""
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    speed, rollouts, compared = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    plot(speed["rates"], compared["rounds"], HERE / "results.png")
    import_lines = [f"| {name} | {value:.3f} |" for name, value in speed["seconds"].items()]
    parts = [
        "# Results",
        NOTES.strip(),
        "![Speed by batch size, and beside other frameworks](results.png)",
        "## Beside other frameworks (`compare.py`)",
        compared["machine"] + "; one core, decisions a second.",
        compare.table(compared["rounds"]),
        "## Every form (`throughput.py`)",
        speed["machine"] + "; one thread if not said.",
        throughput.told(speed["rates"], speed["cores"]),
        "Seconds of imports and first uses:",
        "\n".join(["| | seconds |", "|---|---:|", *import_lines]),
        "## MaskablePPO's rollouts (`rollouts.py`)",
        rollouts["told"],
    ]
    (HERE / "RESULTS.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
