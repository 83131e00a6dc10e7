"""What is kept of an episode to look at: Parquet and a picture in a folder, a page, films; refused before the work.

Whatever an extra is needed for is imported where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from harvestgym import registry
from harvestgym.core.errors import ConfigError

Bar = Callable[[str, int | None], Callable[[int], None]]
"""Begins a bar of a name and a length, if that is known, and gives the function that is told how much more is done."""


class Episode(NamedTuple):
    """A recorded episode (see `record`) and what it is of."""

    id: str
    env: Any
    policy: str
    seed: int
    record: Any

    @property
    def title(self) -> str:
        """The id, or the name of the farm file."""
        return Path(self.id).name if self.id.endswith(registry.FILES) else self.id

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        name = Path(self.id).stem if self.id.endswith(registry.FILES) else self.id.replace("/", "-")
        return f"{name}-{self.policy}-{self.seed}"


@dataclass(frozen=True)
class Exporter:
    """What is to be kept of an episode.

    Attributes:
        out: a folder for the episode as Parquet and as a picture; made if it is missing.
        html: a file for the page of it.
        gif, mp4: files for films of it, `width` pixels wide, `fps` pictures a second.
    """

    out: Path | None = None
    html: Path | None = None
    gif: Path | None = None
    mp4: Path | None = None
    width: int = 960
    fps: float = 10

    def __bool__(self) -> bool:
        """Whether anything is to be kept at all."""
        return any(path is not None for path in (self.out, self.html, self.gif, self.mp4))

    def check(self) -> None:
        """ConfigError, with nothing written, if one of the files cannot be made or an extra is missing."""
        from harvestgym.render.video import check_video_path

        if self.out is not None:
            check_folder("--out", self.out)
            check_extras(data="pyarrow", plot="matplotlib")
        if self.html is not None:
            check_extras(plot="plotly")
            if self.html.is_dir() or not self.html.absolute().parent.is_dir():
                raise ConfigError(f"--html wants a file in a folder that is there, found {self.html}")
        for path, suffix in ((self.gif, ".gif"), (self.mp4, ".mp4")):
            if path is not None:
                check_video_path(path, suffix)

    def write(self, episode: Episode, bar: Bar) -> Iterator[Path]:
        """Write the files, one after the other, and give the path of each."""
        if self.out is not None:
            yield from _folder(episode, self.out)
        if self.html is not None:
            yield _page(episode, self.html, bar)
        for path in (self.gif, self.mp4):
            if path is not None:
                yield self._film(episode, path, bar)

    def _film(self, episode: Episode, path: Path, bar: Bar) -> Path:
        from harvestgym.render.video import EpisodeFrames, write_video

        scene = registry.family_function(episode.id, "scene")
        film = EpisodeFrames.of_record(scene, episode.env, episode.record, self.width)
        return write_video(film, path, self.fps, bar(path.name, len(film)))


def _folder(episode: Episode, out: Path) -> list[Path]:
    from .record import write_parquet

    out.mkdir(parents=True, exist_ok=True)
    table, picture = (out / f"{episode.stem}{suffix}" for suffix in (".parquet", ".png"))
    write_parquet(episode.record, table)
    registry.family_function(episode.id, "figure")(episode.env, episode.record).savefig(picture, dpi=110)
    return [table, picture]


def _page(episode: Episode, html: Path, bar: Bar) -> Path:
    from .replay import write_replay

    id, env, policy, seed, record = episode
    about = f"{registry.doc(id, env)} One episode of the policy {policy}, seed {seed}."
    return write_replay(id, env, record, html, episode.title, about, bar(html.name, None))


def check_folder(option: str, folder: Path) -> None:
    """ConfigError if a folder is a file, or neither is there nor can be made."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ConfigError(f"{option} wants a folder, found the file {there if there != folder.absolute() else folder}")
    if not os.access(there, os.W_OK):
        raise ConfigError(f"{option} wants a folder that can be written, and {there} cannot")


def check_extras(**modules: str) -> None:
    """ConfigError with the command to run if the module that an extra brings is missing; `extra=module`."""
    missing = [extra for extra, module in modules.items() if find_spec(module) is None]
    if missing:
        raise ConfigError(f"this needs pip install 'harvestgym[{','.join(missing)}]'")
