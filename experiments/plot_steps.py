"""The size of an episode, by which searches choose their length."""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.core.env import Env
from harvestgym.evaluate.run import horizon


def count_plot_steps(env: Env[Any, Any]) -> int:
    """Return the number of steps in an episode times the number of plots."""
    plots = sum(int(np.prod(f.shape)) for f in getattr(env, "fields", ()))
    return horizon(env) * max(plots, 1)
