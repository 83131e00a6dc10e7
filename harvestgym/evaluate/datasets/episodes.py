"""Episodes to learn from: what was seen, done and earned, by an expert, a learner or a person.

They are kept as a Parquet file, a row per observation, or as a Minari dataset (`evaluate.datasets.minari`), and read
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import start_episode
from harvestgym.core.env import Env
from harvestgym.core.episode import Loop, act_in_batch, repeat_carry, scan_steps, step_with_advance
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.core.random import key_for
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.gym.conversion import make_observation_writer
from harvestgym.registry import spec as spec_of

BATCH = 10
"""Episodes that are played at once."""

SUFFIX = ".parquet"


@dataclass(frozen=True)
class Episode:
    """One episode of n steps; an observation is a pytree in the observation space, as an action is in its own.

    Attributes:
        observations: leaves with a leading axis n + 1, the first of the reset.
        actions: leaves with a leading axis n.
        rewards, terminated, truncated: float64 (n,) and bool (n,).
        infos: named arrays with a leading axis n + 1.
        seed: `reset(seed=seed)` of the id's `GymEnv` and these actions give the episode again; None if not known.
    """

    observations: Any
    actions: Any
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    infos: Mapping[str, np.ndarray] = field(default_factory=dict)
    seed: int | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    @classmethod
    def of(
        cls,
        observations: Sequence[Any],
        actions: Sequence[Any],
        rewards: Sequence[float],
        terminated: Sequence[bool],
        truncated: Sequence[bool],
        infos: Sequence[Mapping[str, Any]] = (),
        seed: int | None = None,
    ) -> Episode:
        """The episode of lists with an entry per step, as `reset` and `step` gave them; ConfigError if they differ.

        `observations` and `infos` begin with those of the reset. Of the infos, the numbers are kept. One that was
        broken off is truncated there.
        """
        lengths = [len(observations) - 1, len(actions), len(rewards), len(terminated), len(truncated)]
        if len(set(lengths)) > 1 or lengths[0] < 1 or (infos and len(infos) != len(observations)):
            raise ConfigError(
                "episode: wanted one observation (and info) more than actions, rewards and flags, and at least one "
                f"step, found {len(observations)} observations, {len(infos)} infos and {lengths[1:]}"
            )
        paid, ends, cuts = np.array(rewards, np.float64), np.array(terminated, bool), np.array(truncated, bool)
        return cls(_stacked(observations), _stacked(actions), paid, ends, _closed(ends, cuts), _numbers(infos), seed)


@dataclass(frozen=True)
class Demonstrations:
    """Episodes of one id.

    Attributes:
        by: who acted: the name of a policy, "human", or what you like.
        overrides: with what the environment was made, as in `harvestgym.make(id, **overrides)`.
    """

    id: str
    by: str
    episodes: Sequence[Episode]
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """The number of steps of all episodes."""
        return sum(map(len, self.episodes))


def record(
    id: str, policy: str | Policy = "expert", episodes: int = 1, seed: int = 0, **overrides: Any
) -> Demonstrations:
    """Episodes of a policy, the i-th with the seed `seed` + i."""
    env = spec_of(id).make(**overrides)
    name, acting = (policy, policy_named(id, env, policy)) if isinstance(policy, str) else ("policy", policy)
    return Demonstrations(id, name, list(play(env, acting, range(seed, seed + episodes))), overrides)


def play(env: Env[Any, Any], policy: Policy, seeds: Sequence[int]) -> Iterator[Episode]:
    """The episode that a policy plays from each seed; an endless one is truncated at the horizon of evaluations."""
    steps, size = horizon(env), min(BATCH, len(seeds))
    for start in range(0, len(seeds), size):
        mine = [*seeds[start : start + size]]
        filled = np.asarray((mine * size)[:size] if len(mine) < size else mine, np.uint32)
        first, later = jax.device_get(_played(env, steps, policy.traced(), filled, env.params))
        yield from (_cut(env, first, later, i, s) for i, s in enumerate(mine))


@partial(jax.jit, static_argnums=(0, 1))
def _played(env: Env[Any, Any], steps: int, policy: Policy, seeds: jax.Array, params: Any) -> Any:
    """The first Timestep of a batch, and for each step the actions and the Timesteps, `(steps, batch, ...)`."""
    keys = jax.vmap(jax.random.key)(seeds)
    run, first = start_episode(env, keys, params)
    act = act_in_batch(policy, jax.vmap(lambda key: key_for(key, "policy"))(keys))
    start = Loop(run, first.obs, repeat_carry(policy, len(seeds)))
    return first, scan_steps(act, step_with_advance(env, params), start, jnp.arange(steps), lambda _, *made: made)


def _cut(env: Env[Any, Any], first: Any, later: Any, lane: int, seed: int) -> Episode:
    """The first episode of a lane, in the dtypes of the spaces."""
    actions, shown = jax.tree.map(lambda leaf: leaf[:, lane], later)
    over = shown.terminated | shown.truncated
    n = int(np.argmax(over)) + 1 if over.any() else len(over)
    obs, infos = jax.tree.map(
        lambda a, b: np.concatenate([a[None, lane], b[:n]]), (first.obs, first.info), (shown.obs, shown.info)
    )
    read = make_observation_writer(env.observation_space, (n + 1,))
    done = make_observation_writer(env.action_space, (n,))(jax.tree.map(lambda leaf: leaf[:n], actions))
    ends = shown.terminated[:n]
    return Episode(
        read(obs), done, shown.reward[:n].astype(np.float64), ends, _closed(ends, shown.truncated[:n]), infos, seed
    )


def _closed(terminated: np.ndarray, truncated: np.ndarray) -> np.ndarray:
    """`truncated` with the last step an end, if it is none yet."""
    last = np.arange(len(truncated)) == len(truncated) - 1
    return truncated | (last & ~terminated)


def collect(env: gymnasium.Env[Any, Any], act: Callable[[Any], Any], seeds: Iterable[int]) -> Iterator[Episode]:
    """The episode that `act(obs) -> action` (a learnt policy of any library, say) plays from each seed.

    The gym actions of a `Farm` are kept as members of the action space of its id, and its rewards with the costs
    taken off, as its id has them; ConfigError for an action that the integer form lacks.
    """
    kept = _written(env.unwrapped)
    for seed in seeds:
        obs, info = env.reset(seed=seed)
        steps: list[Any] = []
        while not steps or not (steps[-1][2] or steps[-1][3]):
            action = act(steps[-1][0] if steps else obs)
            steps.append(kept(action, lambda action=action: env.step(action)))
        seen, paid, ends, cuts, told, done = zip(*steps, strict=True)
        yield Episode.of([obs, *seen], done, paid, ends, cuts, [info, *told], seed)


def _written(env: Any) -> Callable[[Any, Callable[[], Any]], tuple[Any, ...]]:
    """From an action and what does it to obs, reward, flags, info and the action, as they are kept."""
    from harvestgym.farm.interface.farm import Farm

    if not isinstance(env, Farm):
        return lambda action, step: (*step(), action)
    write = make_observation_writer(env.language.model.action_space)

    def of_farm(pairs: Any, step: Callable[[], Any]) -> tuple[Any, ...]:
        acting = env.acting
        seen, _, ended, cut, info = step()
        done = write(env.language.to_model_action(pairs, acting))
        return seen, float(info["net"]), ended, cut, info, done

    return of_farm


def _stacked(rows: Sequence[Any]) -> Any:
    try:
        return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *rows)
    except ValueError as error:
        raise ConfigError(f"episode: the steps differ in form: {error}") from None


def _numbers(infos: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The entries that are numbers of one shape in every info, as float32, int32 or bool."""
    out: dict[str, np.ndarray] = {}
    for name in infos[0] if infos else ():
        values = [np.asarray(info[name]) if name in info else None for info in infos]
        alike = {None if value is None else (value.shape, value.dtype.kind) for value in values}
        if len(alike) == 1 and values[0] is not None and values[0].dtype.kind in "fiub":
            whole = np.stack(values)  # pyright: ignore[reportCallIssue, reportArgumentType]
            out[name] = whole.astype({"f": np.float32, "b": bool}.get(whole.dtype.kind, np.int32))
    return out


def write(demonstrations: Demonstrations, path: str | Path) -> Path:
    """Keep episodes: in a Parquet file if `path` ends so, else in a new folder as a Minari dataset.

    ConfigError if there is something already, or nothing to write. Needs the extra `data`; Minari `offline` too.
    """
    path = Path(path)
    check_new(path)
    if not demonstrations.episodes:
        raise ConfigError(f"{path}: there is no episode to write")
    path.parent.mkdir(parents=True, exist_ok=True)
    _keeper(path).write(demonstrations, path)
    return path


def check_new(path: Path) -> None:
    """ConfigError if there is something already."""
    if path.exists():
        raise ConfigError(f"{path}: there is something already; choose another name")


def read(path: str | Path) -> Demonstrations:
    """The episodes that `write` kept in a Parquet file or a folder; ConfigError if there are none."""
    path = Path(path)
    if not path.exists():
        raise ConfigError(f"{path}: wanted a file *{SUFFIX} or the folder of a Minari dataset, found none")
    return _keeper(path).read(path)


def _keeper(path: Path) -> Any:
    """The module that writes and reads what `path` names."""
    if path.suffix == SUFFIX:
        from . import parquet

        return parquet
    from . import minari

    return minari
