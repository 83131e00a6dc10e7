"""Control rules side by side: the metrics of the field as one tidy data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate

from .family import summary
from .model import FishingModel

if TYPE_CHECKING:
    import pandas


def compare(env: FishingModel, rules: Mapping[str, Policy], key: jax.Array, episodes: int = 1000) -> pandas.DataFrame:
    """One row per policy and episode; all policies meet the same episodes. Needs the extra `data` (pandas).

    Columns: policy, episode, return, years, and those of `make.summary`.
    """
    import pandas

    parts = []
    for name, policy in rules.items():
        whole = jax.device_get(evaluate(env, policy, key, episodes, int(env.params.horizon)))
        first = {"policy": name, "episode": np.arange(episodes), "return": whole.returns, "years": whole.length}
        parts.append(pandas.DataFrame(first | summary(env, whole)))
    return pandas.concat(parts, ignore_index=True)
