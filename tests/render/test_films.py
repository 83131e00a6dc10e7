"""Films hold the pictures they were made of, are whole or not there, and are what other programs expect."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo
from PIL import Image
from typer.testing import CliRunner

import harvestgym
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.scene import Map, Mark, Scene
from harvestgym.evaluate.record import record_first
from harvestgym.evaluate.run import evaluate_id, policy_named, summarise_episodes
from harvestgym.farm import Farm
from harvestgym.farm.family import CATALOGUE, scene
from harvestgym.render import video
from harvestgym.render.video import EpisodeFrames, choose_steps, write_video
from tests.long_form import long

from .seasons import full

Frames = list[np.ndarray]


MOVIEPY = "needs pip install --no-deps moviepy imageio imageio-ffmpeg proglog decorator tqdm python-dotenv"


def flat(number: int = 5, height: int = 40, width: int = 61) -> Frames:
    """Pictures of a few plain colours, a square moving over paper."""
    frames = np.full((number, height, width, 3), 255, np.uint8)
    for i, frame in enumerate(frames):
        frame[5:15, 4 + 9 * i : 12 + 9 * i] = (204, 40 * i, 20)
    return list(frames)


def read_gif(path: Path) -> tuple[Frames, list[int]]:
    with Image.open(path) as image:
        frames, durations = [], []
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB")))
            durations.append(image.info["duration"])
        assert image.info["loop"] == 0
    return frames, durations


def read_mp4(path: Path) -> tuple[Frames, Any]:
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
        return frames, SimpleNamespace(
            codec=stream.codec_context.name, format=stream.codec_context.pix_fmt, rate=stream.average_rate
        )


def test_a_gif_keeps_plain_colours_and_the_time(tmp_path: Path) -> None:
    ticks: list[int] = []
    write_video(flat(), tmp_path / "a.gif", fps=8, progress=ticks.append)
    frames, durations = read_gif(tmp_path / "a.gif")
    assert np.array_equal(frames, flat()) and ticks == [1] * 5
    # Hundredths of a second: an eighth is 12 of them, and the last picture stays for two seconds.
    assert durations == [120] * 4 + [2000]


def test_gif_palette_is_close_to_more_colours_than_it_holds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frames = flat(4, 100, 100)
    for frame in frames:
        frame[60:] = np.linspace(0, 255, 100)[:, None] + rng.integers(0, 3, (40, 100, 3)) * np.array([1, 0, 0])
    frames = [np.asarray(frame, np.uint8) for frame in frames]
    write_video(frames, tmp_path / "a.gif")
    shown = read_gif(tmp_path / "a.gif")[0]
    assert len(np.unique(np.concatenate(frames).reshape(-1, 3), axis=0)) > 255
    for now, then in zip(shown, frames, strict=True):
        away = np.abs(now.astype(int) - then)
        assert away[:60].max() <= 4 and away.max() <= 20


def test_pictures_that_do_not_change_cost_next_to_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = rng.choice(np.array([[0, 0, 0], [255, 255, 255], [9, 99, 200]], np.uint8), (120, 160))
    for number in (1, 40):
        frames = np.repeat(noise[None], number, 0)
        for i, frame in enumerate(frames):
            frame[:4, 4 * i : 4 * i + 4] = (255, 0, 0)
        write_video(list(frames), tmp_path / f"{number}.gif")
    one, forty = ((tmp_path / f"{n}.gif").stat().st_size for n in (1, 40))
    assert forty < one + 40 * 1000 and len(read_gif(tmp_path / "40.gif")[0]) == 40


def test_an_mp4_is_what_browsers_play(tmp_path: Path) -> None:
    frames = flat(6, 41, 61)
    write_video(frames, tmp_path / "a.mp4", fps=12.5)
    shown, reported = read_mp4(tmp_path / "a.mp4")
    assert (reported.codec, reported.format, float(reported.rate)) == ("h264", "yuv420p", 12.5)
    assert np.shape(shown) == (6, 42, 62, 3), "even sides: the last row and column are there twice"
    for now, then in zip(shown, frames, strict=True):
        assert np.abs(now[:41, :61].astype(int) - then).mean() < 4


def test_a_film_of_a_long_episode_skips_steps_and_keeps_the_last() -> None:
    def scene(step: int) -> Scene:
        return Scene(f"{step}", (Map("", (2, 1), (Mark("square", (0.5, 0.5)),)),))

    assert choose_steps(7) == list(range(7))
    assert choose_steps(1) == [0]
    long = EpisodeFrames(scene, choose_steps(5001, most=600), width=320)
    assert list(long.steps[:2]) == [0, 9] and long.steps[-1] == 5000 and len(long) <= 601
    assert long[1].shape == long[-1].shape and not np.array_equal(long[1], long[-1])


@pytest.mark.parametrize(
    ("frames", "name", "fps", "wanted"),
    [
        ([], "a.gif", 10, "at least one frame"),
        ([np.zeros((4, 4), np.uint8)], "a.gif", 10, "uint8"),
        ([np.zeros((4, 4, 3))], "a.mp4", 10, "uint8"),
        (flat(), "a.gif", 0, "fps"),
        (flat(), "none/a.gif", 10, "try creating"),
        (flat(), "a.avi", 10, r"\.gif or \.mp4"),
    ],
)
def test_what_cannot_be_a_film_is_refused_and_writes_nothing(
    frames: Any, name: str, fps: float, wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=wanted):
        video.write_video(frames, tmp_path / name, fps)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_a_film_that_fails_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    class Breaks(list):  # type: ignore[type-arg]
        def __getitem__(self, i: Any) -> Any:
            if i == 7:  # of these, none from which a GIF takes its colours, before it writes
                raise OSError("no more pictures")
            return super().__getitem__(i)

    (tmp_path / name).write_text("as it was")
    with pytest.raises(OSError, match="no more pictures"):
        video.write_video(Breaks(3 * flat()), tmp_path / name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["as it was"]


def test_without_its_extra_an_mp4_is_refused_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ConfigError, match=r"pip install 'harvestgym\[video\]'"):
        write_video(flat(), tmp_path / "a.mp4")
    reported = CliRunner().invoke(app, ["run", "fishing/patches-v0", "--mp4", str(tmp_path / "a.mp4")])
    assert reported.exit_code == 2 and "harvestgym[video]" in reported.output and not list(tmp_path.iterdir())


@long
def test_the_command_line_writes_both_films(tmp_path: Path) -> None:
    gif, mp4 = tmp_path / "years.gif", tmp_path / "years.mp4"
    command = ["run", "fishing/patches-v0", "--policy", "closed", "--episodes", "1", "--width", "400", "--fps", "20"]
    done = CliRunner().invoke(app, [*command, "--gif", str(gif), "--mp4", str(mp4)])
    assert done.exit_code == 0, done.output
    shown, durations = read_gif(gif)
    filmed, reported = read_mp4(mp4)
    assert len(shown) == len(filmed) == 101 and durations[0] == 50 and reported.rate == 20
    assert shown[0].shape == filmed[0].shape and shown[0].shape[1] == 400
    assert np.abs(shown[50].astype(int) - filmed[50]).mean() < 6, "the same picture in both"


@pytest.mark.parametrize(
    ("id", "policy", "overrides"),
    [
        ("fishing/logistic-random-v0", "random", {"Tmax": 30}),
        pytest.param("forager/flowers-v0", "random", {"horizon": 40}, marks=long),
    ],
)
def test_what_is_filmed_is_the_first_episode_of_the_table(id: str, policy: str, overrides: Any) -> None:
    env = harvestgym.make(id, **overrides)
    table = evaluate_id(id, policy, 3, 7, env=env)
    record, row = record_first(id, env, policy_named(id, env, policy), 7)
    alone = summarise_episodes(id, env, policy, 7, row)
    assert len(record["reward"]) == table.lengths[0] + 1 and alone.lengths.tolist() == table.lengths[:1].tolist()
    np.testing.assert_allclose(alone.returns, table.returns[:1], rtol=1e-5)
    np.testing.assert_allclose(np.sum(record["reward"]), table.returns[0], rtol=1e-4)
    for name, values in table.columns.items():
        np.testing.assert_allclose(alone.columns[name], values[:1], rtol=1e-4, atol=1e-6, err_msg=name)
    assert len(set(table.returns.tolist())) > 1, "the others are other episodes"


@long
def test_a_gif_of_a_season_has_every_day(tmp_path: Path) -> None:
    """Every day has other numbers, plants and weather than the last."""
    env, said = full((3, 4))
    rng, days = np.random.default_rng(0), 151
    kept = {name: np.repeat(values[1:2], days, 0) for name, values in said.items()}
    kept["info/day"] = np.arange(days)
    for variable in env.variables:
        if variable.name in kept and variable.key in ("available_Water#L", "grow#nb", "rain/amount#mm", "size#cm"):
            values = kept[variable.name]
            kept[variable.name] = values * rng.uniform(0.8, 1.2, values.shape)
    kept["info/net"] = kept["info/gain"] = rng.normal(0.0, 1.0, days)
    write_video(EpisodeFrames(lambda day: scene(env, kept, day), range(days)), tmp_path / "season.gif")
    assert len(read_gif(tmp_path / "season.gif")[0]) == days


def a_farm() -> Farm:
    return Farm.from_yaml(CATALOGUE / "bean-1x1-v0.yaml", render_mode="rgb_array", mode="po", seed=1)


@long
def test_a_farm_films_the_season_so_far(tmp_path: Path) -> None:
    farm = a_farm()
    with pytest.raises(ConfigError, match="reset"):
        farm.generate_gif(tmp_path / "a.gif")
    farm.reset()
    for _ in range(3):
        farm.step(())
    assert farm.generate_gif(tmp_path / "a.gif", width=400) == tmp_path / "a.gif"
    farm.generate_video(str(tmp_path / "a.mp4"), fps=5, width=400)
    shown, filmed = read_gif(tmp_path / "a.gif")[0], read_mp4(tmp_path / "a.mp4")[0]
    assert len(shown) == len(filmed) == 4 and shown[0].shape[1] == 400
    assert not np.array_equal(shown[0], shown[3])
    with pytest.raises(ConfigError, match=r"expected a file name ending in \.gif"):
        farm.generate_gif(tmp_path / "a.mp4")
    with pytest.raises(ConfigError, match=r"expected a file name ending in \.gif, got no suffix; try name\.gif"):
        farm.generate_gif("")
    unseen = Farm.from_yaml(CATALOGUE / "bean-1x1-v0.yaml")
    with pytest.raises(ConfigError, match="render_mode='rgb_array'"):
        unseen.generate_gif(tmp_path / "b.gif")


@pytest.mark.parametrize(
    "id", ["fishing/logistic-levels-v0", *(pytest.param(id, marks=long) for id in ("farm", "forager/flowers-v0"))]
)
def test_gymnasium_records_videos_of_every_family(id: str, tmp_path: Path) -> None:
    """The farm is that of the test above, so that it is compiled once. `.ci/run` installs moviepy without what it
    requires in addition: its last release wants a Pillow that is older than the current one, and works with it too."""
    pytest.importorskip("moviepy", reason=MOVIEPY)
    filmed: Any = a_farm() if id == "farm" else gymnasium.make(id, render_mode="rgb_array")
    env = RecordVideo(filmed, str(tmp_path / "films"), video_length=4)
    env.reset(seed=0)
    for _ in range(4):
        env.step(() if id == "farm" else 0)
    env.close()
    (film,) = (tmp_path / "films").iterdir()
    frames, reported = read_mp4(film)
    assert len(frames) >= 4 and reported.codec == "h264" and frames[0].shape[1] == video.DEFAULT_WIDTH
    assert not np.array_equal(frames[0], frames[-1])
