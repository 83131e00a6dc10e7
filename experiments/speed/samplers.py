"""Compare ways to draw binomial and multinomial counts; prints JSON, with times as ratios within one run.

    python -m experiments.speed.samplers [--environments 4096] [--plots 12] [--rounds 15]

Every sampler draws its own uniforms from one key per environment under `vmap`, as an entity does. Times are relative to
`jax.random` on the same counts and probabilities, so a ratio below one is faster.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median

import jax
import jax.numpy as jnp
from jax import lax

from harvestgym.core.random import binomial, multinomial


def from_zero(u, n, p, n_max):
    """Draw counts by inversion from 0 upwards until every environment is done; beyond n = 126, (1 - q)^n underflows."""
    q = jnp.where(p > 0.5, 1 - p, p)

    def climb(state):
        k, mass, unspent, count = state
        for _ in range(8):  # steps before it checks again whether all environments are done
            count = count + (unspent > 0)
            mass = mass * (n - k) * (q / (1 - q)) / (k + 1)
            k, unspent = k + 1, unspent - mass
        return k, mass, unspent, count

    mass = jnp.exp(n * jnp.log1p(-q))
    start = (jnp.float32(0), mass, 1 - mass - u, jnp.zeros_like(n))
    count = lax.while_loop(lambda s: (s[0] < n_max) & jnp.any(s[2] > 0), climb, start)[-1]
    count = jnp.minimum(count, n)
    return jnp.where(p > 0.5, n - count, count)


def by_table(u, n, p, n_max):
    """Compare the uniform with the whole cumulative sum, n_max + 1 entries per environment."""
    k = jnp.arange(n_max + 1.0)
    n, p, log_factorial = n[..., None], p[..., None], lax.lgamma(k + 1)
    ways = lax.lgamma(n + 1.0) - log_factorial - lax.lgamma(jnp.maximum(n - k, 0) + 1)
    mass = jnp.where(k <= n, jnp.exp(ways + k * jnp.log(p) + (n - k) * jnp.log1p(-p)), 0)
    return jnp.minimum(jnp.sum(u[..., None] >= jnp.cumsum(mass, -1), -1), n[..., 0])


def by_trials(u, n, p, n_max):
    """Make a Bernoulli draw per trial from a hash of the uniform: only integers, with the entropy of one uniform."""
    seed = lax.bitcast_convert_type(u, jnp.uint32)
    threshold = (p * 2.0**24).astype(jnp.uint32)

    def trial(i, count):
        x = seed ^ (i.astype(jnp.uint32) * jnp.uint32(0x9E3779B9))
        x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
        x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
        return count + (((x ^ (x >> 16)) >> 8 < threshold) & (i < n))

    return lax.fori_loop(0, n_max, trial, jnp.zeros_like(n), unroll=True)


def by_rounded_normal(u, n, p, n_max):
    """Use the normal approximation, which is not exact."""
    z = jax.scipy.special.ndtri(jnp.maximum(u, 2.0**-24))
    return jnp.clip(jnp.round(n * p + z * jnp.sqrt(n * p * (1 - p))), 0, n).astype(jnp.int32)


def jax_binomial(key, n, p):
    return jax.random.binomial(key, n.astype(jnp.float32), p).astype(jnp.int32)


def jax_multinomial(key, n, p):
    return jax.random.multinomial(key, n.astype(jnp.float32), p, shape=p.shape).astype(jnp.int32)


def given_uniforms(sampler: Callable, n_max: int, slots: tuple[int, ...] = ()) -> Callable:
    """Turn a sampler that takes uniforms into one that takes a key; `slots` is the shape of uniforms per count."""
    return lambda key, n, p: sampler(jax.random.uniform(key, n.shape + slots), n, p, n_max)


def compare(samplers: dict[str, Callable], inputs: tuple, rounds: int) -> dict:
    """Time every sampler once per round; return the median over rounds of its ratio to `jax` in the same round."""
    compiled = {name: jax.jit(jax.vmap(sampler)) for name, sampler in samplers.items()}
    first = {name: seconds(sampler, inputs) for name, sampler in compiled.items()}
    times = [{name: seconds(sampler, inputs) for name, sampler in compiled.items()} for _ in range(rounds)]
    return {
        "jax_milliseconds": round(1e3 * min(t["jax"] for t in times), 3),
        "ratio_to_jax": {name: round(median(t[name] / t["jax"] for t in times), 4) for name in samplers},
        "first_call_seconds": {name: round(t, 2) for name, t in first.items()},
    }


def seconds(function: Callable, inputs: tuple) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(*inputs))
    return time.perf_counter() - start


def measure(shape: tuple[int, int], n_max: int, p_max: float, rounds: int) -> dict:
    """Compare the samplers on counts uniform in [0, n_max] and probabilities uniform in [0, p_max]."""
    keys = jax.random.split(jax.random.key(0), shape[0])
    n = jax.random.randint(jax.random.key(1), shape, 0, n_max + 1)
    p = jax.random.uniform(jax.random.key(2), shape, maxval=p_max)
    small = [from_zero, by_table, by_trials] if n_max <= 100 else []
    named = {"binomial": binomial, **{s.__name__: s for s in small}, "by_rounded_normal": by_rounded_normal}
    samplers = {name: given_uniforms(sampler, n_max) for name, sampler in named.items()}
    row = {"n_max": n_max, "p_max": p_max}
    return row | compare({"jax": jax_binomial} | samplers, (keys, n, p), rounds)


def measure_multinomial(shape: tuple[int, int], n_max: int, k: int, rounds: int) -> dict:
    """Compare the multinomials on counts uniform in [0, n_max] and `k` random weights per environment."""
    keys = jax.random.split(jax.random.key(0), shape[0])
    n = jax.random.randint(jax.random.key(1), shape, 0, n_max + 1)
    p = jax.random.dirichlet(jax.random.key(2), jnp.ones(k), shape)
    samplers = {"jax": jax_multinomial, "multinomial": given_uniforms(multinomial, n_max, (k - 1,))}
    return {"n_max": n_max, "k": k} | compare(samplers, (keys, n, p), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, default=4096, help="size of the vmap (default 4096)")
    parser.add_argument("--plots", type=int, default=12, help="draws per environment (default 12)")
    parser.add_argument("--rounds", type=int, default=15, help="times each sampler is timed (default 15)")
    given = parser.parse_args()
    shape = (given.environments, given.plots)
    cases = [(n_max, p_max) for n_max in (20, 64, 100, 1000) for p_max in (1.0, 0.1)]
    report = {
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "shape": shape,
        "binomial": [measure(shape, *case, given.rounds) for case in cases],
        "multinomial": [measure_multinomial(shape, n_max, 9, given.rounds) for n_max in (20, 1000)],
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
