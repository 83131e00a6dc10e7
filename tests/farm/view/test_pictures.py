"""A farm is drawn as its record says: every kind, every stage, what was done and seen; and drawing changes nothing.

`python -m tests.farm.view.test_pictures` writes the golden pictures again; look at them before keeping them.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from PIL import Image

import examples.fungus  # noqa: F401 (a file may name the classes of modules that are imported)
from harvestgym.core import autoreset
from harvestgym.core.env import Env
from harvestgym.core.episode import make_frame
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Words
from harvestgym.farm import Farm
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.plant.stages import STAGES
from harvestgym.farm.entities.weather.drawing import name_sky
from harvestgym.farm.family import CATALOGUE, record, scene
from harvestgym.farm.view.recorder import known, observed_masks
from harvestgym.registry import ids
from harvestgym.render.canvas import to_rgb
from harvestgym.render.svg import to_svg
from harvestgym.render.text import to_text
from tests.farm.one_field import LILLE, make_farm
from tests.long_form import long
from tests.render.seasons import SEASONS, blank, farm, full, looks, order, say, three_crops, two_fields
from tests.render.test_canvas import overlaps

GOLDEN = Path(__file__).parents[2] / "golden" / "pictures"
KEPT = ("full-1x1", "full-3x4", "two-fields", "three-crops", "looks")
WIDTH = 480


def map_of(seen: Scene, field: int = 0) -> Map:
    return [panel for panel in seen.panels if isinstance(panel, Map)][field]


def meanings(seen: Scene) -> set[str]:
    return {mark.meaning for panel in seen.panels if isinstance(panel, Map) for mark in panel.marks}


def words(seen: Scene) -> str:
    return "\n".join(line for panel in seen.panels if isinstance(panel, Words) for line in panel.lines)


def at(seen: Scene, x: int, y: int, start: str = "") -> list[Mark]:
    """Return the marks of a plot whose meaning begins so."""
    marks = map_of(seen).marks
    return [m for m in marks if (int(m.at[0]), int(m.at[1])) == (x, y) and m.meaning.startswith(start)]


@pytest.mark.parametrize("name", KEPT)
def test_pictures_are_what_they_were(name: str) -> None:
    env, kept = SEASONS[name]()
    now = to_rgb(scene(env, kept, 1), WIDTH).astype(int)
    with Image.open(GOLDEN / f"{name}.png") as image:
        then = np.asarray(image.convert("RGB")).astype(int)
    assert now.shape == then.shape
    away = np.abs(now - then).max(-1)
    hint = "python -m tests.farm.view.test_pictures, if it was meant to change"
    assert away.mean() < 2 and (away > 64).mean() < 0.01, hint


def test_a_golden_picture_would_show_another_stage_and_another_wetness() -> None:
    env, kept = full((3, 4))
    before = to_rgb(scene(env, kept, 1), WIDTH).astype(int)
    for entity, values in {"Plant-0": {"stage": 5}, "Soil-0": {"available_Water#L": 178}}.items():
        env, kept = full((3, 4))
        say(env, kept, 1, "Field-0", entity, values)
        away = np.abs(to_rgb(scene(env, kept, 1), WIDTH).astype(int) - before).max(-1)
        assert away.mean() >= 2 or (away > 64).mean() >= 0.01


@pytest.mark.parametrize("name", SEASONS)
def test_no_words_lie_on_others(name: str) -> None:
    env, kept = SEASONS[name]()
    assert not overlaps(scene(env, kept, 1))


@pytest.mark.parametrize("crop", ["bean", "corn", "tomato", "carrots"])
def test_every_crop_has_a_drawing_of_its_own_for_every_stage(crop: str) -> None:
    env = farm("full-1x1-v0", crop)
    kept, drawn = blank(env, 8), []
    for stage, name in enumerate(STAGES[1:], 1):
        say(env, kept, stage, "Field-0", "Plant-0", {"stage": stage, "size#cm": 40, "population#nb": 7})
        (mark,) = at(scene(env, kept, stage), 0, 0, f"{crop}: ")
        assert mark.meaning == f"{crop}: {name}"
        drawn.append(mark.what)
    assert len({sprite.strokes for sprite in drawn}) == len(STAGES) - 1  # type: ignore[union-attr]


def test_a_plant_is_drawn_larger_as_it_grows() -> None:
    env = farm("full-1x1-v0")
    kept, sizes = blank(env, 5), []
    for step in range(1, 5):
        say(env, kept, step, "Field-0", "Plant-0", {"stage": 2, "size#cm": 15 * step, "population#nb": 7})
        (mark,) = at(scene(env, kept, step), 0, 0, "bean")
        sizes.append(mark.size)
    assert sizes == sorted(sizes) and sizes[-1] > 1.8 * sizes[0]


def test_everything_on_a_full_field_is_in_the_picture_and_in_the_text() -> None:
    env, kept = full((3, 4))
    seen = scene(env, kept, 1)
    wanted = {
        "dry soil, to 10 %", "10 to 35 %", "35 to 65 %", "65 to 90 %", "wet soil, to 100 %", "weeds that grow",
        "weeds in bloom", "pests", "pollinators came", "birds came", "herbicide left", "pesticide left",
        "fertilizer left", "scarecrow (basic)", "hedge", "light rain", "strong wind",
        "done: water", "done: put scarecrow",
    }  # fmt: skip
    assert wanted <= meanings(seen)
    assert {f"bean: {stage}" for stage in STAGES[1:]} <= meanings(seen)
    result = to_text(seen)
    assert all(meaning in result for meaning in wanted)
    assert "water 20 L at (2, 3): cost 0.01" in result and "pests: 12" in result and "dead (pests)" in to_svg(seen)
    tool = at(seen, 2, 3, "done")
    assert [mark.text for mark in tool] == ["20 L"]


def test_counts_stand_next_to_their_drawings() -> None:
    env, kept = full((3, 4))
    say(env, kept, 1, "Field-0", "Weeds-0", {"grow#nb": 0})
    kept["Field-0/Weeds-0/grow#nb"][1, 2, 1] = 9
    found = [m for m in map_of(scene(env, kept, 1)).marks if m.meaning == "weeds that grow"]
    assert [(int(m.at[0]), int(m.at[1]), m.text) for m in found] == [(2, 1, "9")]


def test_wet_and_dry_plots_have_the_colour_of_their_class() -> None:
    env = farm("full-3x4-v0")
    kept = blank(env)
    place, soil = env.params.fields[0].place, env.params.fields[0].entities[1]
    bucket = soil.bucket(place)  # type: ignore[attr-defined]
    share = np.linspace(0, 1, 12).reshape(3, 4)
    say(
        env,
        kept,
        1,
        "Field-0",
        "Soil-0",
        {"available_Water#L": bucket.wilting + share * (bucket.capacity - bucket.wilting)},
    )
    colours = {(int(m.at[0]), int(m.at[1])): m.colour for m in map_of(scene(env, kept, 1)).marks if m.what == "square"}
    light = [sum(int(colours[plot][i : i + 2], 16) for i in (1, 3, 5)) for plot in np.ndindex(3, 4)]
    assert light == sorted(light, reverse=True) and len(set(light)) == 5, "the wetter the darker"


def test_futile_and_refused_actions_are_only_described() -> None:
    env, kept = full((3, 4))
    sowing = ("BasicFarmer-0", "Field-0", "Plant-0", "sow", {"plot": (0, 0), "amount#seed": 15, "spacing#cm": 20})
    order(env, kept, 1, [sowing], effective=False)
    assert "sow bean 15 seeds at (0, 0): cost 0.01, no effect" in words(scene(env, kept, 1))
    kept["info/accepted"][1], kept["info/refusal"][1] = False, 1
    seen = scene(env, kept, 1)
    assert "sow bean 15 seeds at (0, 0): refused: the farmer" in words(seen) and not any(
        "sow" in meaning for meaning in meanings(seen)
    )


def test_fields_stand_side_by_side_each_with_its_own() -> None:
    seen = scene(*two_fields(), 1)
    assert [len(map_of(seen, f).marks) > 0 for f in (0, 1)] == [True, True]
    assert {"tomato: ripe", "done: pick tomato"} <= {m.meaning for m in map_of(seen, 0).marks}
    assert "bean: bloom" in {m.meaning for m in map_of(seen, 1).marks} and "43.6 ° N" in map_of(seen).title
    chart = next(panel for panel in seen.panels if isinstance(panel, Chart))
    assert [line.label for line in chart.lines] == ["Field-0", "Field-1"]


def test_crops_that_share_a_plot_stand_next_to_each_other() -> None:
    marks = {m.meaning: m.at[0] for m in map_of(scene(*three_crops(), 1)).marks}
    assert marks["bean: harvested"] < marks["corn: ripe"] < marks["carrots: fruit"]


def test_observations_are_drawn_with_their_cost() -> None:
    env, kept = looks()
    seen = scene(env, kept, 1)
    assert "looked at" in meanings(seen) and "morning" in seen.title
    assert "looked at Plant-0 stage: cost 0.003" in words(seen) and "observation 0.006" in words(seen)
    evening = scene(env, kept, 2)
    assert "looked at Plant-0 stage: cost 0.003" in words(evening) and "morning" not in evening.title
    assert "looked at" not in meanings(scene(env, kept, 0))


def test_a_record_says_what_was_asked_for_and_seen() -> None:
    env = farm("paid-looks-1x1-v0")
    assert env.asks
    asked = np.asarray([label.endswith("stage/(0, 0)") for label in env.offered.labels])
    assert asked.sum() == 1
    mask = observed_masks(env, SimpleNamespace(asked=asked))
    found = {name.removeprefix("seen/Field-0/"): bool(np.all(result)) for name, result in mask.items()}
    free = {"Weather-0/day#int365", "Weather-0/rain/amount#mm", "Weather-0/consecutive_dry#day"}
    assert {name for name, result in found.items() if result} == {*free, "Plant-0/stage"}
    assert {"Soil-0/available_Water#L", "Weeds-0/grow#nb"} <= found.keys() and "Plant-0/population#nb" not in found


def test_what_the_farmer_has_not_seen_is_not_drawn() -> None:
    env, kept = looks()
    say(env, kept, 2, "Field-0", "Plant-0", {"stage": 5, "size#cm": 99})
    farmer = known(env, kept)
    assert np.isnan(farmer["Field-0/Plant-0/stage"][0]).all()
    assert "soil not seen yet" in meanings(scene(env, farmer, 0)) and "weeds that grow" not in meanings(
        scene(env, farmer, 1)
    )
    assert "bean: grow" in meanings(scene(env, farmer, 2)), "as it was when last looked at"
    assert not overlaps(scene(env, farmer, 0))


def test_the_sky_is_that_of_the_day_as_far_as_it_is_known() -> None:
    def sky(**values: float) -> str:
        return name_sky(DrawContext({key: np.asarray(value) for key, value in values.items()}))

    dry = {"rain_amount": 0.0, "air_temperature/mean#°C": 10.0}
    assert [sky(**dry, **{"sun_exposure#int5": sun}) for sun in (0, 2, 5)] == ["overcast", "fair", "sunny"]
    wet = {"rain_amount": 2.0, "sun_exposure#int5": 5.0}
    assert [sky(**wet, **{"air_temperature/mean#°C": warm}) for warm in (8, -3)] == ["heavy_rain", "snow"]
    assert [sky(**{"rain/amount#mm": mm}) for mm in (0, 3)] == ["dry", "light_rain"] and sky() == ""


def test_drawing_leaves_the_record_as_it_was() -> None:
    env, kept = full((3, 4))
    before = {name: values.copy() for name, values in kept.items()}
    for values in kept.values():
        values.setflags(write=False)
    to_rgb(scene(env, kept, 1))
    assert all(np.array_equal(kept[name], values) for name, values in before.items())


def test_a_picture_needs_nothing_of_the_days_to_come() -> None:
    env, kept = full((1, 1))
    cut = {name: values[:2] for name, values in kept.items()}
    assert scene_text(env, kept) == scene_text(env, cut)


def scene_text(env: Any, kept: Any) -> str:
    return to_svg(scene(env, kept, 1))


def test_a_kind_of_ones_own_draws_itself() -> None:
    kinds: list[Any] = [
        ["Weather", "lille"],
        ["Soil", "clay"],
        ["Plant", "bean"],
        ["examples.fungus:Fungus", "mildew"],
    ]
    env = make_farm(kinds, (2, 1), place=LILLE)
    kept = blank(env)
    kept["Field-0/Fungus-0/infected#%"][1, 1, 0] = 0.5
    seen = scene(env, kept, 1)
    assert [m.size for m in at(seen, 1, 0, "fungus")] == [0.15] and not at(seen, 0, 0, "fungus")
    assert "fungus" in [mark.meaning for mark in seen.legend]


def test_a_kind_that_draws_nothing_is_no_trouble() -> None:
    assert Entity().draw(None, None) == [] and Entity().describe(None, None) == []  # type: ignore[arg-type]


def test_every_farm_has_a_picture_in_the_docs() -> None:
    folder = Path(__file__).parents[3] / "docs" / "pictures"
    for id in ids("farm"):
        path = folder / f"{id.replace('/', '-')}.png"
        assert path.is_file(), f"python tools/make_pictures.py {id}"
        assert path.stat().st_size < 60_000


class Together:
    """A season played by hand: states and frames of the functional environment, for the actions of a shell."""

    def __init__(self, env: Env[Any, Any], seed: int) -> None:
        self.env, self.frames = env, []
        self.step = jax.jit(self._step)
        self.run, first = jax.jit(lambda key: autoreset.start_episode(env, key, env.params))(jax.random.key(seed))
        self.keep(first, np.int32(0))

    def _step(self, run: Any, action: Any) -> Any:
        after, shown, _ = autoreset.advance(self.env, run, action, self.env.params)
        return after, shown

    def keep(self, shown: Any, action: Any) -> None:
        self.frames.append(make_frame(record, self.env, self.run.state, action, shown, self.env.params))

    def do(self, action: Any) -> None:
        self.run, shown = self.step(self.run, action)
        self.keep(shown, action)

    def picture(self) -> str:
        kept = {name: np.stack([np.asarray(f[name]) for f in self.frames]) for name in self.frames[0]}
        return to_svg(scene(self.env, kept, len(self.frames) - 1))  # type: ignore[arg-type]


@long
def test_a_live_picture_is_that_of_the_record_and_changes_no_state() -> None:
    shell = gymnasium.make("farm/bean-1x1-v0", render_mode="svg")
    shell.reset(seed=5)
    alike = Together(shell.unwrapped.core, 5)  # type: ignore[attr-defined]
    watering = farm("bean-1x1-v0").actions.index(
        (
            "BasicFarmer-0",
            "Field-0",
            "Soil-0",
            "watering_discrete",
            {"plot": (0, 0), "amount#L": 20.0, "duration#min": 60},
        )
    )
    for action in (0, watering, 0):
        shell.step(action)
        alike.do(np.int32(action))
        before = jax.device_get(shell.unwrapped.run_state.state)  # type: ignore[attr-defined]
        assert shell.render() == alike.picture()
        after = jax.device_get(shell.unwrapped.run_state.state)  # type: ignore[attr-defined]
        assert jax.tree.all(jax.tree.map(np.array_equal, before, after))
    kept = shell.unwrapped.episode_log.record  # type: ignore[attr-defined]
    np.testing.assert_array_equal(kept["orders/kind"].ravel() > 0, [False, False, True, False])
    assert kept["orders/values"][2, 0, 0] == 20.0 and kept["seen/Field-0/Plant-0/stage"].all()
    shell.reset(seed=5)
    assert "Day 0 of" in shell.render(), "a new episode has a new record"  # type: ignore[operator]


@long
def test_a_farm_shows_itself_in_every_mode_and_keeps_nothing_without_one() -> None:
    path = CATALOGUE / "bean-1x1-v0.yaml"
    mine = Farm.from_yaml(path, render_mode="rgb_array")
    with pytest.raises(gymnasium.error.ResetNeeded, match="render: expected a running episode, got none"):
        mine.render()
    mine.farmgym_reset(seed=1)
    mine.farmgym_step([("BasicFarmer-0", "Field-0", "Plant-0", "harvest", {})])
    pixels = mine.render()
    assert pixels.dtype == np.uint8 and pixels.ndim == 3
    run = mine.run_state
    mine.run_state = run
    assert mine.render().shape == pixels.shape, "a state put there by hand is drawn"
    assert mine.metadata["render_modes"] == ["rgb_array", "ansi", "svg"]
    with pytest.raises(ConfigError, match="try 'rgb_array'"):
        Farm.from_yaml(path, render_mode="rgb")
    silent = Farm.from_yaml(path)
    with pytest.warns(UserWarning, match="expected a render_mode, got none"):
        assert silent.episode_log is None and silent.render() is None


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for kept_name in KEPT:
        picture = Image.fromarray(to_rgb(scene(*SEASONS[kept_name](), 1), WIDTH))
        picture.quantize(64).save(GOLDEN / f"{kept_name}.png", optimize=True)
