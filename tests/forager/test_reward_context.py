"""The inputs of a reward law: exact phases, and the same draws in every context."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.forager.reward_context import HostBatchContext, HostContext, JaxContext

WORDS = (77, 2**31 + 5)
CLOCKS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 12345]


def on_jax(clock: int, kind: int = 0, generation: int = 0) -> JaxContext:
    words = jnp.array(WORDS, jnp.uint32)
    return JaxContext(jnp.uint32(clock >> 32), jnp.uint32(clock % 2**32), words, kind, jnp.uint32(generation))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("period", [1, 97, 2**24 - 1])
def test_phase_is_exact_in_every_context(clock, period):
    batch = HostBatchContext(clock, np.array([WORDS]), (0, 0), np.zeros(1, int), {})
    assert HostContext(clock, WORDS, 0, 0).phase(period) == clock % period
    assert batch.phase(period) == clock % period
    assert int(on_jax(clock).phase(period)) == clock % period


@pytest.mark.parametrize(("kind", "generation"), [(0, 0), (3, 0), (0, 12)])
def test_uniforms_are_equal_in_every_context(kind, generation):
    host = HostContext(5, WORDS, kind, generation).uniforms(6)
    batch = HostBatchContext(5, np.array([WORDS] * 2), (kind, 1), np.full(2, generation), {}).uniforms(6)
    assert np.asarray(on_jax(5, kind, generation).uniforms(6)).tolist() == host.tolist()
    assert batch.tolist() == [host.tolist()] * 2


def test_uniforms_do_not_depend_on_the_clock():
    assert (HostContext(5, WORDS, 1, 2).uniforms(4) == HostContext(10**10, WORDS, 1, 2).uniforms(4)).all()


def test_uniforms_are_uniform_and_cannot_be_overwritten():
    draws = np.concatenate([HostContext(0, (seed, 0), 0, 0).uniforms(50) for seed in range(100)])
    assert stats.kstest(draws, "uniform").pvalue > 1e-4
    with pytest.raises(ValueError, match="read-only"):
        HostContext(0, WORDS, 0, 0).uniforms(4)[0] = 1.0


def test_a_batch_draws_again_only_for_a_new_generation():
    cache, words = {}, np.array([WORDS, (1, 1)])
    draw = lambda clock, generations: HostBatchContext(clock, words, (0, 0), generations, cache).uniforms(3)  # noqa: E731
    first = draw(0, np.array([0, 0]))
    assert draw(1, np.array([0, 0])) is first
    later = draw(2, np.array([0, 1]))
    assert (later[0] == first[0]).all() and (later[1] != first[1]).any()


@pytest.mark.parametrize("clock", CLOCKS)
def test_noise_is_equal_on_the_host_and_under_jax(clock):
    assert float(on_jax(clock).noise()) == HostContext(clock, WORDS, 0, 0).noise()


def test_noise_is_drawn_for_every_step():
    noise = np.array([HostContext(clock, WORDS, 0, 0).noise() for clock in range(5000)])
    assert stats.kstest(noise, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 4 / np.sqrt(5000)
