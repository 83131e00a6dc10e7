"""Predict field trials and compare them with what was measured (part C of `protocol.md`).

python -m experiments.reality.trials water hernandez --out experiments/results/reality-trials.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.reality.sealed import describe_run
from experiments.studies.common import wofost

from . import nutrients, thompson, tomato, water

TRIALS: dict[str, Callable[..., dict[str, Any]]] = {
    "water": water.run,
    "hernandez": nutrients.run_hernandez,
    "heady": nutrients.run_heady,
    "thompson": thompson.run,
    "tomato": tomato.run,
    "searches": water.compare_searches,
}
"""Each trial, with the parameters of WOFOST (or None) as argument."""


def main() -> None:
    """Run the trials that the command line names, and replace their entries in the file of results."""
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("trials", nargs="*", metavar="trial", help=f"of {', '.join(TRIALS)}; default: all")
    say.add_argument("--out", type=Path, required=True, help="file of results (JSON)")
    say.add_argument("--wofost", type=Path, help="a clone of WOFOST_crop_parameters, branch wofost72; needs pcse")
    args = say.parse_args()
    if unknown := set(args.trials) - set(TRIALS):
        say.error(f"trial: expected one of {', '.join(TRIALS)}, got {', '.join(sorted(unknown))}")
    parameters = wofost.read_parameters(args.wofost) if args.wofost else None
    results = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    for name in args.trials or TRIALS:
        print(f"{name} …", file=sys.stderr, flush=True)
        start = time.perf_counter()
        found = TRIALS[name](parameters)
        seconds = time.perf_counter() - start
        results[name] = describe_run() | {"seconds": round(seconds)} | found
        args.out.write_text(json.dumps(round_floats(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{name}: {seconds:.0f} s, in {args.out}", file=sys.stderr, flush=True)


def round_floats(value: Any) -> Any:
    """Return nested results with floats of four significant digits, and None for NaN."""
    if isinstance(value, dict):
        return {name: round_floats(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [round_floats(part) for part in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.4g}")
    return value


if __name__ == "__main__":
    main()
