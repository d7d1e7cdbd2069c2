#!/usr/bin/env python3
"""Give every reader of files, messages and words damaged input, for as long as there is time.

    ./coterie python benchmarks/bench_fuzz.py [--inputs 100000] [--minutes 30] [--only WORD]

Each reader is tried in a process of its own, which ends after 10 s at one input, or with 1 GB more
memory than it began with. A fault prints what hypothesis made of the input, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
sys.path.insert(0, str(FIXTURES))
LINES = 25


def main() -> int:
    """Try all readers; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="Number of inputs altogether.")
    parser.add_argument("--minutes", type=float, default=30.0, help="Longest time [min].")
    parser.add_argument("--only", default="", help="Part of the readers' names.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the inputs.")
    asked = parser.parse_args()
    from coterie_fixtures.fuzzing.registry import readers

    end = time.monotonic() + 60.0 * asked.minutes
    total = faults = 0
    with tempfile.TemporaryDirectory() as home:
        names = [name for name in readers(Path(home)) if asked.only in name]
        left = asked.inputs
        for k, name in enumerate(names):
            if time.monotonic() > end:
                print(f"no time left for {len(names) - k} readers")
                break
            folder = Path(home) / f"reader-{k}"
            folder.mkdir()
            share = max(1, left // (len(names) - k))
            done = subprocess.run(
                [sys.executable, "-m", "coterie_fixtures.fuzzing.running", name, str(share),
                 str(asked.seed), str(folder)],
                env={**os.environ, "PYTHONPATH": f"{FIXTURES}:{os.environ.get('PYTHONPATH', '')}"},
                capture_output=True, text=True, errors="replace", check=False,
            )  # fmt: skip
            if done.returncode == 0:
                number, accepted, seconds = done.stdout.split()[-3:]
                print(f"{name:<48} {number:>7} inputs, {accepted:>7} accepted, {seconds} s")
                total += int(number)
                left -= int(number)
                continue
            faults += 1
            told = (done.stderr or done.stdout).splitlines()
            print(f"{name:<48} FAULT (exit code {done.returncode})")
            print("\n".join(f"    {line[:300]}" for line in told[-LINES:]), flush=True)
    print(f"{total} inputs for {len(names)} readers, {faults} with faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
