"""Put the scores over all farms, from docs/leaderboard.json, into the block `scores` of README.md.

python tools/make_scores.py    # after harvestgym leaderboard --out docs
"""

from __future__ import annotations

from blocks import DOCS, body, put

from harvestgym.evaluate.leaderboard.page import make_score_table
from harvestgym.evaluate.leaderboard.store import read_rows

if __name__ == "__main__":
    put("../README.md", "scores", body(make_score_table(read_rows(DOCS)))[2:])
