"""``benchmarks/neural_report.py``: tables and pictures of any network."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from callbreak_env.agents.neural import save_weights
from conftest import JIT
from networks import network

pytest.importorskip("matplotlib")
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import neural_report

HISTORY = """\
decisions,standard_gain,standard_low,standard_high,bhoos_gain,bhoos_low,bhoos_high
0,-1.0,-1.1,-0.9,-2.0,-2.2,-1.8
500000,,,,,,
1000000,0.1,0.05,0.15,0.08,0.0,0.1
"""


@pytest.mark.skipif(not JIT, reason="plays searches: too slow uncompiled")
def test_its_tables_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_weights(network(20, 2), tmp_path / "net")
    (tmp_path / "run.csv").write_text(HISTORY)
    arguments = ["--weights", tmp_path / "net", "--deals", 4, "--regret-deals", 1, "--out", tmp_path / "out"]
    neural_report.main([*map(str, arguments), "--history", str(tmp_path / "run.csv")])
    told = capsys.readouterr().out
    tables = [part for part in told.split("\n\n") if part.startswith("|")]
    assert [len(table.splitlines()) for table in tables] == [6, 8, 14, 10]
    for name in ("network", "`rule_based`"):
        costs = re.findall(rf"\| standard \| {name} \| ((?:[0-9.]+ \| )+[0-9.]+) \|", tables[3])
        assert len(costs) == 1
        *phases, total = map(float, costs[0].split(" | "))
        assert len(phases) == len(neural_report.PHASES)
        assert min(phases) >= 0
        assert sum(phases) == pytest.approx(total, abs=4e-4)
    assert (tmp_path / "out" / "neural_bids.png").stat().st_size > 5000
    assert (tmp_path / "out" / "neural_curves.png").stat().st_size > 5000
