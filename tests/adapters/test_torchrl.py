"""TorchRL wraps environments of every family, one by one and in batches, and finds that they keep their specs."""

from __future__ import annotations

import pytest

import harvestgym
from tests.long_form import some

envs = pytest.importorskip("torchrl.envs")
pytestmark = pytest.mark.torch

IDS = ("farm/bean-1x1-v0", "fishing/may-v0", "forager/two-biome-v0")


@pytest.mark.parametrize("id", some(IDS, "may-v0"))
def test_an_environment_passes_the_checker(id: str) -> None:
    envs.utils.check_env_specs(envs.GymEnv(id))


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
@pytest.mark.parametrize("id", some(IDS, "may-v0"))
def test_a_vector_environment_passes_the_checker(id: str, mode: str) -> None:
    envs.utils.check_env_specs(envs.GymWrapper(harvestgym.make_vec(id, 2, autoreset_mode=mode)))


def test_torchrl_refuses_restarts_in_the_next_step() -> None:
    """This is a limit of TorchRL for all vector environments."""
    with pytest.raises(RuntimeError, match="SAME_STEP or DISABLED"):
        envs.GymWrapper(harvestgym.make_vec(IDS[1], 2))
