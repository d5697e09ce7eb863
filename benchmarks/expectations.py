"""Fills in what the control variates of CallBreak-Bench expect, from deals that it does not play.

    python benchmarks/expectations.py

The covariates are played by ``rule_based``: to be run once, when its version is final, and never again for
the same version of the benchmark.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import callbreak_env
from callbreak_env.arena import definition
from callbreak_env.arena.variates import covariate_expectation

FILE = Path(callbreak_env.__file__).parent / "arena" / definition.FILE
MARK = '  "expectations": '


def main() -> None:
    """Replace the end of the definition's file, which they are."""
    before = FILE.read_text(encoding="utf-8").partition(MARK)[0]
    lines = []
    for preset, rules in definition.definition().rules.items():
        start = time.perf_counter()
        found = covariate_expectation(rules)
        told = {
            "seed": found.seed,
            "deals": found.deals,
            "mean": found.mean.tolist(),
            "covariance": found.covariance.tolist(),
        }
        lines.append(f"    {json.dumps(preset)}: {json.dumps(told)}")
        print(f"{preset}: {found.deals:,} deals in {time.perf_counter() - start:.1f} s, means {told['mean']}")
    FILE.write_text(before + MARK + "{\n" + ",\n".join(lines) + "\n  }\n}\n", encoding="utf-8")
    print(f"wrote {FILE.name}")


if __name__ == "__main__":
    main()
