"""Write docs/pictures/monitor.png: six variables monitored during a season of the expert on a bean farm.

python tools/make_monitor.py
"""

from __future__ import annotations

from pathlib import Path

import jax

from harvestgym import registry
from harvestgym.evaluate.run import policy_named
from harvestgym.gym.env import GymEnv
from harvestgym.render.monitor_readings import sum_value, value

ID, SEED = "farm/bean-1x1-v0", 0
FILE = Path(__file__).parent.parent / "docs" / "pictures" / "monitor.png"
VARIABLES = [
    ("Field-0", "Soil-0", "available_Water#L", sum_value, "Available water", "range_auto"),
    ("Field-0", "Soil-0", "available_N#g", sum_value, "Available Nitrogen (g)", "range_auto"),
    ("Field-0", "Soil-0", "microlife_health_index#%", value, "Microlife health", "range_auto"),
    ("Field-0", "Plant-0", "stage", value, "Stage", "range_auto"),
    ("Field-0", "Plant-0", "size#cm", lambda x: x[0, 0].value, "Size (cm)", (0, 60)),
    ("Field-0", "Plant-0", "fruit_weight#g", value, "Weight of a fruit", "range_auto"),
]


def main() -> None:
    """Run the season and write the picture."""
    env = GymEnv(registry.make(ID))
    policy = policy_named(ID, env.core, "expert").traced()
    act = jax.jit(policy.act)
    with env.add_monitoring(VARIABLES, FILE):
        obs, _ = env.reset(seed=SEED)
        carry, over = policy.init, False
        while not over:
            carry, action = act(carry, obs, jax.random.key(SEED))
            obs, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
