"""Every public class of the fisheries, and every fishery file, refuses wrong values in clear words."""

from __future__ import annotations

import dataclasses
import inspect
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import iterate_metas, pytree
from harvestgym.fishing import FishingEnv, control, drop_in
from harvestgym.fishing.env import SETTINGS
from harvestgym.fishing.family import CATALOGUE, from_yaml, make
from harvestgym.fishing.growth import Logistic, OneOf, Ricker
from harvestgym.fishing.model import FishingModel, FishingParams
from harvestgym.fishing.noise import Uniform
from harvestgym.fishing.parameter_drift import AnyLaw, Drift, Spread
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.fishing.spec import GROWTH_LAWS, NOISES
from harvestgym.fishing.structured_growth import AgeStructured, Patches
from harvestgym.fishing.units import Units

from ..long_form import ALL
from ..wrong_values import build_file, build_or_refuse, change_data, draw_arguments

CASES = 2_500 if ALL else 500
FILES = 10_000 if ALL else 60

LOGISTIC = make("logistic-v0")

RIGHT: dict[type, dict[str, Any]] = {
    FishingEnv: {}, Units: {}, AnyLaw: {}, AgeStructured: {},
    OneOf: {"laws": (Logistic(), Ricker())}, Patches: {"law": Logistic()},
    Drift: {"names": ("r",), "rate": [0.1], "limit": [1.0]}, Spread: {"names": ("r",), "sigma": [0.1]},
    FishingParams: {f.name: getattr(LOGISTIC.params, f.name) for f in dataclasses.fields(FishingParams)},
    FishingModel: {"defaults": LOGISTIC.params, "units": LOGISTIC.units}, share_stock: {"env": LOGISTIC},
    **{law: {} for law in GROWTH_LAWS.values() if law not in (OneOf, Patches)},
    **{noise: {} for noise in NOISES.values()},
}  # fmt: skip
"""Arguments of each class that are right; those left out have defaults."""


def test_every_constructor_refuses_or_builds() -> None:
    rng, classes, built = random.Random(1), [*RIGHT], 0
    for _ in range(CASES):
        cls = rng.choice(classes)
        names = [name for name in inspect.signature(cls).parameters if name not in ("args", "kwargs", "entries")]
        names += SETTINGS if cls is FishingEnv else ()
        given = draw_arguments(rng, names, RIGHT[cls])
        made = build_or_refuse(lambda cls=cls, given=given: cls(**given), given)
        built += made is not None
        for name, meta in iterate_metas(cls) if made is not None and dataclasses.is_dataclass(cls) else ():
            if meta.kind == "par":
                values = np.asarray(getattr(made, name))
                assert np.all((values >= meta.low) & (values <= meta.high)), given
    assert CASES / 100 < built < CASES / 2


def test_every_file_is_refused_or_built(tmp_path: Path) -> None:
    rng, files = random.Random(2), [yaml.safe_load(path.read_text()) for path in sorted(CATALOGUE.glob("*.yaml"))]
    path = tmp_path / "own.yaml"
    whole = [data for data in files if "extends" not in data]
    for _ in range(FILES):
        data = change_data(
            rng, rng.choice(whole), others=["ricker", {"kind": "may"}, {"kind": "uniform", "sigma": 0.1}]
        )
        build_file(path, data, from_yaml)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Uniform(sigma=3), "Uniform: 1 mistake\n  sigma: expected a number from 0 to 1, got 3"),
        (lambda: Logistic(r=np.nan), "Logistic: 1 mistake\n  r: expected a finite number, got nan"),
        (lambda: AgeStructured(ages=0), "ages: expected greater than or equal to 1, got 0"),
        (lambda: OneOf(laws=()), "laws: expected at least one law"),
        (lambda: Patches(law=AgeStructured()), "law: expected a law of one stock, got AgeStructured of 21"),
        (lambda: Drift(names=("r",), rate=[1, 2], limit=[1]), "rate: expected 2|rate: expected 1 numbers"),
        (lambda: FishingEnv(drift=Drift(names=("q",), rate=[1], limit=[1])), "expected a known parameter, got 'q'"),
        (lambda: FishingEnv(drift=Drift(names=("r",), rate=[1], limit=[-1])), "limit: expected 0 to 20"),
        (lambda: FishingEnv(law="fox"), r"law: expected a law, such as Fox\(\), got 'fox'"),
        (lambda: make("logistic-v0", catch_constraint=15), "at most 1, got 15; try 0.15, if 15 % is meant"),
        (lambda: drop_in.make("fishing-v1", K=-1), "FishingCtsEnv > K: expected a number above 0, got -1"),
        (lambda: drop_in.make("fishing-v3"), "a published id, got fishing-v3; try .*fishing/logistic-survey-v0"),
        (lambda: make("logistic-v0", levels=1), "levels: expected 0 for a continuous action, or 2 to"),
        (lambda: make("logistic-v0", Tmax=True), "Tmax: expected a valid integer, got True"),
        (lambda: make("myers-v0", A=0), "expected a finite unfished stock above 0, got 0"),
    ],
)  # fmt: skip
def test_mistakes_are_named(build: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build()


def test_jax_rebuilds_a_law_without_its_checks() -> None:
    """A tree of axes or of names is no law, and JAX may make it."""
    import jax

    assert jax.tree.map(lambda _: 0, Logistic()).K == 0
    grown = jax.vmap(lambda law: law(np.float32(0.5)), in_axes=(jax.tree.map(lambda _: 0, Logistic()),))
    assert grown(Logistic(r=np.array([0.1, 0.2]), K=np.array([1.0, 2.0]))).shape == (2,)
    assert jax.jit(lambda r: Logistic(r=r)(np.float32(0.5)))(0.3) == pytest.approx(0.575)


def test_a_law_without_the_decorator_is_refused() -> None:
    class Faster(Ricker):
        pass

    with pytest.raises(ConfigError, match="Faster: expected the decorator @pytree on the class"):
        Faster()


def test_a_user_law_is_checked_by_its_own_fields() -> None:
    from harvestgym.core.pytree import par
    from harvestgym.fishing.growth import GrowthLaw

    @pytree
    class Steady(GrowthLaw):
        K: float = par("K", "stock", low=1.0, default=1.0)

        def __call__(self, left: Any) -> Any:
            return self.K + 0 * left

    assert FishingEnv(law=Steady(K=2.0)).model.units.bound == 4.0
    with pytest.raises(ConfigError, match="Steady: 1 mistake\n  K: expected a number of at least 1, got 0.5"):
        Steady(K=0.5)


RULES = {"catch": control.quota, "share": control.rate, "target": control.lift}


@pytest.mark.parametrize(("name", "rule"), [*RULES.items(), ("target", control.escapement)])
def test_rules_refuse_what_is_no_amount_or_no_fishery(name: str, rule: Any) -> None:
    for wrong in (float("nan"), None, "much", [0.1, float("nan")], -1.0, float("inf")):
        with pytest.raises(ConfigError, match=f"control > {name}: expected a finite number, 0 or more, or one for"):
            rule(LOGISTIC, wrong)
    with pytest.raises(ConfigError, match="control > env: expected an object of the class FishingModel, got 3"):
        rule(3, 0.1)


def test_a_ramp_rises_from_closed_to_full() -> None:
    for full in (0.4, 0.2, [0.5, 0.4]):
        with pytest.raises(ConfigError, match="control > closed: expected less than full, .*, got 0.4"):
            control.ramp(LOGISTIC, 0.1, 0.4, full)
    with pytest.raises(ConfigError, match="control > full: expected a finite number"):
        control.ramp(LOGISTIC, 0.1, 0.4, float("inf"))
    with pytest.raises(ConfigError, match="control: expected a number, or numbers by stock, got"):
        control.policy(LOGISTIC, control.take_quota, float("nan"))
