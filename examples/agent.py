"""A policy in NumPy for `harvestgym score` and `harvestgym suite`; replace `act` with your own policy.

    harvestgym score farm/contexts-1x1-v0 --policy examples/agent.py:make
    harvestgym suite --ids fishing/driver-v0 --policy examples/agent.py:make --out agent.json

`make` is called once for each id. It returns a function from an observation to an action, a model with `predict`, or a
`harvestgym.core.policy.Policy`; or a pair of a wrapped environment and one of these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from harvestgym.core.spaces import noop_action


def make(id: str, env: Any) -> Callable[[Any], Any]:
    """Return the policy for an id."""
    idle = noop_action(env.action_space)  # the action that does nothing; None if there is none
    first = np.zeros(env.action_space.shape, env.action_space.dtype) if idle is None else idle

    def act(observation: Any) -> Any:
        """Return an action of `env.action_space`; this policy never does anything."""
        return first

    return act
