"""Export of a recorded episode: a folder with a Parquet file and a picture, an HTML page, videos.

`Exporter.check` rejects invalid targets before the episode runs. Modules that need an extra or start JAX are imported
inside functions, because the command line imports this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harvestgym import registry
from harvestgym.core.errors import check_extras, check_parent, check_suffix, require
from harvestgym.core.saving.parquet import write_parquet
from harvestgym.core.view.timeline import ChatMessage, Progress, Record, ignore_progress

if TYPE_CHECKING:
    from PIL import Image

    from harvestgym.core.view.timeline import Timeline
    from harvestgym.evaluate.run import Evaluation
    from harvestgym.render.video import EpisodeFrames

StartBar = Callable[..., Progress]
"""`start_bar(name, total, first="")` adds a progress bar with a total, or None, and returns its progress callback.

The bar shows `first` and pulses until it is advanced, because a job with one compiled call has no partial progress.
"""


class RecordedEpisode(NamedTuple):
    """A recorded episode (see `record`) with its environment, policy and seed; notebooks show its last picture.

    `result` is its evaluation, if known; the page shows it.
    """

    id: str
    env: Any
    policy: str
    seed: int
    record: Any
    result: Evaluation | None = None

    @property
    def title(self) -> str:
        """The id, or the name of the farm file."""
        return Path(self.id).name if self.id.endswith(registry.FARM_SUFFIXES) else self.id

    @property
    def stem(self) -> str:
        """The common prefix of the names of the exported files."""
        name = Path(self.id).stem if self.id.endswith(registry.FARM_SUFFIXES) else self.id.replace("/", "-")
        return f"{name}-{self.policy}-{self.seed}"

    @property
    def timeline(self) -> Timeline:
        """The variables, actions, events, gains and costs of the episode, and its results with their notes."""
        found = registry.family_function(self.id, "timeline")(self.env, self.record)
        if self.result is None:
            return found
        return replace(found, notes=(*map(": ".join, self.result.to_table().rows), *self.result.describe()))

    @property
    def flows(self) -> Record:
        """The water and nutrients that enter and leave each plot of a farm in each step; empty for other families."""
        return registry.family_function(self.id, "flows", lambda *_: {})(self.env, self.record, self.seed)

    def picture(self, step: int = -1, width: int = 960) -> Image.Image:
        """Draw one step as a picture, by default the last step."""
        from PIL import Image

        from harvestgym.render.canvas import to_rgb

        seen = self._scene(self.env, self.record, range(len(self.record["reward"]))[step])
        return Image.fromarray(to_rgb(seen, width))

    def film(self, width: int = 960, fps: float = 10, frames: int = 600) -> EpisodeFrames:
        """Return the video, with up to about `frames` pictures; notebooks show it."""
        from harvestgym.render.video import EpisodeFrames, choose_steps

        steps = choose_steps(len(self.record["reward"]), frames, self.timeline.last_event)
        return EpisodeFrames(partial(self._scene, self.env, self.record), steps, width, fps)

    def figure(self) -> Any:
        """Draw the whole episode as a Matplotlib figure; needs the extra `plot`."""
        check_extras("figure", plot="matplotlib")
        return registry.family_function(self.id, "figure")(self.env, self.record)

    def replay(
        self,
        path: str | Path,
        about: str = "",
        progress: Progress = ignore_progress,
        messages: Sequence[ChatMessage] = (),
    ) -> Path:
        """Write the episode as one self-contained HTML page and return its path; needs the extra `plot`.

        Args:
            path: the file.
            about: the text at the top of the page.
            progress: is called with 1 for every picture.
            messages: the messages of a game played with text.
        """
        from harvestgym.render.html_replay import to_html

        check_extras("replay", plot="plotly")
        timeline, path = replace(self.timeline, messages=tuple(messages)), Path(path)
        shown = {"true": self.record} | ({} if timeline.known is None else {"observed": timeline.known})
        views = {name: partial(self._scene, self.env, of) for name, of in shown.items()}
        path.write_text(to_html(self.title, about, timeline, views, progress), encoding="utf-8", newline="\n")
        return path

    @property
    def _scene(self) -> Callable[..., Any]:
        return registry.family_function(self.id, "scene")

    def __repr__(self) -> str:
        steps = len(self.record["reward"]) - 1
        return f"{type(self).__name__}({self.policy} on {self.title}, seed {self.seed}, {steps} steps)"

    def _repr_png_(self) -> bytes | None:
        """Return the last picture for notebooks."""
        return self.picture()._repr_png_()


@dataclass(frozen=True)
class Exporter:
    """The targets of an export.

    Attributes:
        out: folder for a Parquet file and a picture of the episode (extras `data` and `plot`); created if missing.
        html: file for the HTML page.
        gif, mp4: files for videos, `width` pixels wide, with `fps` pictures per second.
    """

    out: Path | None = None
    html: Path | None = None
    gif: Path | None = None
    mp4: Path | None = None
    width: int = 960
    fps: float = 10

    def __bool__(self) -> bool:
        """Return whether there is a target."""
        return any(path is not None for path in (self.out, self.html, self.gif, self.mp4))

    def check(self) -> None:
        """Raise ConfigError, before writing, if a file cannot be created or an extra is missing."""
        from harvestgym.render.video import check_video_path

        if self.out is not None:
            check_extras("--out", data="pyarrow", plot="matplotlib")
            check_folder("--out", self.out)
        if self.html is not None:
            check_extras("--html", plot="plotly")
            check_parent(check_suffix(self.html, ".html", ".htm"))
        for path, suffix in ((self.gif, ".gif"), (self.mp4, ".mp4")):
            if path is not None:
                check_video_path(path, suffix)

    def write(self, episode: RecordedEpisode, start_bar: StartBar) -> Iterator[Path]:
        """Write the files, one after the other, and yield the path of each."""
        from harvestgym.render.video import write_video

        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            table, picture = (self.out / f"{episode.stem}{suffix}" for suffix in (".parquet", ".png"))
            episode.figure().savefig(picture, dpi=110)
            write_record({**episode.record, **episode.flows}, table)
            yield from (table, picture)
        if self.html is not None:
            about = registry.headline(episode.id, episode.env)
            about = f"{about} One episode of the policy {episode.policy}, seed {episode.seed}."
            yield episode.replay(self.html, about, start_bar(self.html.name, None))
        for path in (self.gif, self.mp4):
            if path is not None:
                film = episode.film(self.width)
                yield write_video(film, path, self.fps, start_bar(path.name, len(film)))


def write_record(record: Record, path: Path) -> None:
    """Write a record to a Parquet file, with a column for each plot or part, `name/(0, 1)`; needs the extra `data`."""
    flat: dict[str, np.ndarray] = {"step": np.arange(len(record["reward"]))}
    for name, values in record.items():
        for at in np.ndindex(values.shape[1:]):
            flat[f"{name}/{tuple(int(i) for i in at)}" if at else name] = values[(slice(None), *at)]
    write_parquet(path, flat)


def check_new(path: Path) -> None:
    """Raise ConfigError if the path exists."""
    require(not path.exists(), path, "a new file", "an existing one", "another name")


def check_folder(option: str, folder: Path) -> None:
    """Raise ConfigError if a path is a file, or a folder that is not writable or cannot be created."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    require(there.is_dir(), option, "a folder", f"the file {there if there != folder.absolute() else folder}")
    require(os.access(there, os.W_OK), option, "a writable folder", there)
