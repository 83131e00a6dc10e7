"""Map the yield, the water use and the best sowing day of beans over a region of a million cells.

python examples/region.py --out region                            # 1000 x 1000 cells; interrupt it and run it again
python examples/region.py --out region --engine ray               # on all cores, or a cluster with --address
python examples/region.py --out region --side 60                  # a quick look

Needs the extras `data` and `plot`, with Ray `ray`. Each cell has its own soil, depth and climate, as parameters of one
compiled program. The folder has `region.png`, `region.html`, and a Parquet file per chunk of cells.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harvestgym.evaluate.studies import region
from harvestgym.sweep import EngineOptions


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--seasons", type=int, default=1)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--address")
    parser.add_argument("--num-gpus", type=float, default=0)
    given = parser.parse_args()
    options = EngineOptions(given.engine, given.address, num_gpus=given.num_gpus)
    table = region.run(given.seasons, given.out, side=given.side, options=options)
    print(table.title)
    for row in (table.columns, *table.rows):
        print("  ".join(f"{cell:>22}" for cell in row))


if __name__ == "__main__":
    main()
