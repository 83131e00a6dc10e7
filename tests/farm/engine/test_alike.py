"""Fields of one structure are computed together, and are what each is alone."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.rollout import rollout
from harvestgym.core.xla.fusion import tracing_single_kernel
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.build.compile import build_text
from harvestgym.farm.engine.field_day import map_fields
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.weeds.weeds import Weeds
from harvestgym.gym.env import GymEnv
from tests.long_form import long

FIELD = """
    localization: {{latitude#°: 47.45, longitude#°: -122.31, altitude#m: 132}}
    shape: {{length#nb: {length}, width#nb: 2, scale#m: 1.0}}
    entities:
      - [Weather, seattle]
      - [Soil, {soil}]
      - [Plant, {crop}]
      - [Weeds, base_weed]
      - [Pests, basic]
      - [Fertilizer, fast_all]
"""
REST = """
farmers:
  - {kind: BasicFarmer, max_daily_interventions: 2}
rules:
  horizon#day: 60
  max_action_schedule_size: 2
  init: {Field-1: {Weather-0: {day#int365: [150]}}}
  free_observations:
"""
SEEN = """
    - Field-{i}.Soil-0.available_Water#L
    - Field-{i}.Plant-0.size#cm
    - Field-{i}.Weeds-0.grow#nb
    - Field-{i}.Pests-0.plot_population#nb
"""
SCORE = "scoring: {intervention_cost: 0.01, stage: 0, yield: 1.0}\n"


def farm(*fields: tuple[int, str, str]) -> FarmModel:
    """Return a farm of fields of a length, a soil and a crop."""
    texts = [f"  Field-{i}:{FIELD.format(length=n, soil=s, crop=c)}" for i, (n, s, c) in enumerate(fields)]
    seen = [SEEN.format(i=i) for i in range(len(fields))]
    return build_text("".join(["fields:\n", *texts, REST, *seen, SCORE]))


def test_only_what_is_alike_is_mapped_and_in_any_order() -> None:
    calls = []

    def add(structure: str, a: jax.Array, b: dict[str, jax.Array]) -> jax.Array:
        calls.append((structure, a.shape))
        return a + b["x"]

    a = [jnp.ones(2), jnp.ones(3), jnp.full(2, 5.0), jnp.zeros(2), jnp.ones(2)]
    b = [{"x": jnp.float32(i)} for i in range(4)] + [{"x": jnp.int32(4)}]
    with tracing_single_kernel():
        done = map_fields(add, ["p", "p", "p", "q", "p"], a, b)
    assert [np.asarray(each).tolist() for each in done] == [[1, 1], [2, 2, 2], [7, 7], [3, 3], [5, 5]]
    assert calls == [("p", (2,)), ("p", (3,)), ("q", (2,)), ("p", (2,))]


@long
def test_fields_alike_are_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[tuple[int, ...]] = []
    update = Weeds.update

    def counted(self: Any, state: Any, place: Any, *rest: Any) -> Any:
        traced.append(place.shape)
        return update(self, state, place, *rest)

    monkeypatch.setattr(Weeds, "update", counted)
    jax.clear_caches()
    env = farm((1, "clay", "bean"), (2, "loam", "corn"), (1, "sand", "corn"), (1, "loam", "tomato"))
    gym = GymEnv(env)
    gym.reset(seed=0)
    gym.step([0, 0])
    assert sorted(traced) == [(1, 2), (2, 2)]
    jax.clear_caches()  # the traces made here call what is patched


@long
def test_a_field_among_others_alike_is_what_it_is_alone() -> None:
    """Other crops, soils and random draws; only one of them has an initial value; orders reach the field meant."""
    env = farm((1, "clay", "bean"), (1, "loam", "corn"), (1, "sand", "tomato"))
    policy = policy_named("farm/full-1x1-v0", env, "random")
    alone = jax.tree.map(lambda leaf: np.asarray(leaf)[:, 0], rollout(env, policy, jax.random.key(3), 1, 40))
    changes = dict(zip(env.plan.labels, alone.obs.std(axis=0) > 0, strict=True))
    cold = {name for name in changes if "Plant" in name and not name.startswith("Field-1")}  # in January, no seed grows
    assert all(changed for name, changed in changes.items() if "Pests" not in name and name not in cold)
    assert alone.info["effective"].any()

    together = GymEnv(env)
    obs, _ = together.reset(seed=3)
    for day, action in enumerate(alone.action):
        np.testing.assert_allclose(obs, alone.obs[day], rtol=1e-4, atol=1e-5, err_msg=f"day {day}")
        obs, reward, _, _, info = together.step(action)
        np.testing.assert_array_equal(info["effective"], alone.info["effective"][day])
        np.testing.assert_allclose(reward, alone.reward[day], rtol=1e-4, atol=1e-5)
