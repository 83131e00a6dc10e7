"""Time farm studies, in seconds: a first run, which compiles, and a second run on other seasons, which does not.

    python -m experiments.speed.studies [STUDY ...] > studies.json
    python -m experiments.speed.studies --replicates 10 pollinators

Studies run in full, with tables, tests and figures. The "cpus" of a run are CPU seconds divided by wall-clock seconds.
If they are well below the number of cores, other programs were running, or the run does not use all cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from experiments import studies
from experiments.studies.common.trials import REPORTED, TUNING

STUDIES = ("watering", "pollinators", "pests-weeds", "fertilizer")


def measured(name: str, replicates: int, seed: int) -> dict[str, float]:
    """Return the seconds of a run of a study, and the mean number of CPUs that it used."""
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        studies.load_study(name)(replicates, Path(folder), seed=seed)
    seconds = time.perf_counter() - wall
    return {"seconds": round(seconds, 1), "cpus": round((time.process_time() - cpu) / seconds, 2)}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="STUDY", default=STUDIES)
    parser.add_argument("--replicates", type=int, default=100)
    args = parser.parse_args()
    found = {
        name: {"first": measured(name, args.replicates, TUNING), "second": measured(name, args.replicates, REPORTED)}
        for name in args.names
    }
    json.dump({"cores": os.cpu_count(), "replicates": args.replicates, "studies": found}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
