"""Learning from recorded seasons: the best of them is repeated, and not what is done most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces

from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode

pytest.importorskip("optax")


@pytest.fixture
def offline(import_example: Callable[[str], Any]) -> Any:
    """Import the example as a module."""
    return import_example("offline")


SPACE = spaces.Box(-10, 10, (2,), np.float32)
USUAL, BEST = 0, 1


def record(seed: int) -> Episode:
    """Return an episode of 3 steps, in which the observation counts them; only doing `BEST` each time is paid.

    It is done in one of four episodes; the others do `USUAL`, which is paid less.
    """
    action = BEST if seed % 4 == 0 else USUAL
    reward = 2.0 if action == BEST else 1.0
    seen = [np.float32([day, 5.0]) for day in range(4)]
    return Episode.of(seen, [np.int32(action)] * 3, [reward] * 3, [False, False, True], [False] * 3, seed=seed)


@pytest.fixture
def data() -> Demonstrations:
    return Demonstrations("none", "test", [record(seed) for seed in range(40)])


def test_steps_lead_from_an_observation_to_the_next_of_their_episode(offline: Any, data: Demonstrations) -> None:
    steps, scale = offline.read_steps(data, SPACE)
    assert len(steps.features) == 160 and len(steps.now) == 120 == steps.action.size
    day = np.asarray(steps.features)[:, 0] / scale.inverse[0] + scale.mean[0]
    np.testing.assert_allclose(day[steps.now], np.tile([0, 1, 2], 40), atol=1e-5)
    np.testing.assert_allclose(day[steps.after], np.tile([1, 2, 3], 40), atol=1e-5)
    assert np.abs(steps.features.mean(0)).max() < 1e-5 and steps.features.std(0)[0] == pytest.approx(1, rel=1e-4)
    assert not steps.features[:, 1].any(), "what never varies is 0"
    np.testing.assert_allclose(steps.reward * scale.reward, np.repeat([2, 1, 1, 1] * 10, 3), rtol=1e-5)


def test_cloning_repeats_the_usual_and_values_the_best(offline: Any, data: Demonstrations) -> None:
    steps, scale = offline.read_steps(data, SPACE)
    settings = offline.Settings(steps=1500, batch=64, hidden=16, trail=0.05)
    nets, losses = offline.train(settings, offline.make_nets(jax.random.key(0), 2, 2, 16), steps, jax.random.key(1))
    assert np.isfinite(losses).all() and losses[-100:].mean() < losses[:100].mean()
    start = steps.features[:1]
    assert offline.apply_layers(nets.clone, start).argmax() == USUAL
    assert offline.apply_layers(nets.actor, start).argmax() == BEST
    worth = np.asarray(offline.apply_layers(nets.actions, start))[0] * scale.reward
    assert worth[BEST] - worth[USUAL] == pytest.approx(1, abs=0.5), "one more now; later days are the same for both"


def test_farms_with_several_orders_a_day_are_refused(offline: Any) -> None:
    with pytest.raises(SystemExit, match="expected integer actions"):
        offline.make_task("farm/bean-clay-weeds-3x4-v0", {}, offline.Settings())
