"""An episode as a film: GIF through Pillow, MP4 (H.264) through PyAV, which is the extra `video`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harvestgym.core.errors import ConfigError
from harvestgym.core.scene import Scene

from .canvas import to_rgb

FPS = 10
"""Pictures of a second."""

WIDTH = 960
"""Of the pictures, px."""

MOST = 600
"""Pictures of a film made of an episode; of a longer one every n-th step is shown, and the last."""

HOLD = 2.0
"""Seconds for which a GIF shows its last picture, before it begins again."""

SAMPLE = 12
"""Pictures from which the colours of a GIF are taken."""

MOST_COLOURS = 255
"""Of a GIF, which has 256: the last one says that a pixel stays as it was."""

Progress = Callable[[int], None]
"""Told how many pictures were written since it was told last."""


@dataclass(frozen=True)
class Film(Sequence[np.ndarray]):
    """The pictures of an episode, uint8 (height, width, 3), each drawn when it is asked for."""

    scene: Callable[[int], Scene]
    steps: Sequence[int]
    width: int = WIDTH

    @classmethod
    def of(cls, scene: Callable[[int], Scene], steps: int, width: int = WIDTH, most: int = MOST) -> Film:
        """The film of the steps 0 to `steps` - 1 of an episode, of at most about `most` pictures."""
        every = max(1, -(-steps // most))
        return cls(scene, [*range(0, steps - 1, every), steps - 1], width)

    @classmethod
    def of_record(cls, scene: Callable[..., Scene], env: Any, record: Any, width: int = WIDTH) -> Film:
        """The film of a recorded episode; `scene(env, record, step)` is that of the family."""
        return cls.of(partial(scene, env, record), len(record["reward"]), width)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: Any) -> Any:
        return self.draw(self.steps[i])

    def draw(self, step: int) -> np.ndarray:
        """The picture of a step of the episode."""
        return to_rgb(self.scene(step), self.width)


def write_gif(
    frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress | None = None
) -> None:
    """Write a GIF that repeats itself; ConfigError if there is nothing to write, or nowhere to write it."""
    target = _checked(frames, path, fps)
    drawn = {i: np.asarray(frames[i]) for i in _sample(len(frames))}
    colours = Colours.of(list(drawn.values()))
    stills = colours.stills((drawn[i] if i in drawn else frames[i] for i in range(len(frames))), progress)
    # A GIF counts in hundredths of a second, and many programs take less than two of them for ten.
    each = 10 * max(2, round(100 / fps))
    durations = [each] * (len(frames) - 1) + [max(each, round(1000 * HOLD))]
    with _whole(target) as part:
        # With `optimize` Pillow leaves out what does not change from one picture to the next: a fifth of the bytes.
        next(stills).save(
            part, "GIF", save_all=True, append_images=stills, duration=durations, loop=0,
            optimize=True, transparency=MOST_COLOURS,
        )  # fmt: skip


class Colours:
    """One palette for all of a film, which is less to store and does not flicker.

    Pillow maps colours that are near each other to one, so that white paper would turn grey: here the commonest
    colours stay as they are, and each other becomes the nearest of the palette.
    """

    def __init__(self, palette: np.ndarray) -> None:
        self.palette = palette
        self._index = np.full(2**24, -1, np.int16)

    @classmethod
    def of(cls, frames: Sequence[np.ndarray]) -> Colours:
        """The palette of a film, from some of its pictures."""
        seen, fourth = np.zeros(2**24, bool), []
        for i in _sample(len(frames)):
            words = _words(np.asarray(frames[i]))
            seen[words] = True
            fourth.append(words[::2, ::2].ravel())
        # A fourth of the pixels says which colours are common.
        found, count = np.unique(np.concatenate(fourth), return_counts=True)
        common = found[np.argsort(-count, kind="stable")][: MOST_COLOURS // 2]
        return cls(_spread(_rgb(common), _rgb(np.flatnonzero(seen)), MOST_COLOURS))

    def stills(self, frames: Iterable[np.ndarray], progress: Progress | None = None) -> Iterator[Image.Image]:
        """The pictures of a film in these colours; of each only what is new is looked up."""
        last, shown = np.zeros(0, np.uint8), np.zeros(0, np.uint8)
        for frame in frames:
            if frame.shape == last.shape:
                other = frame != last
                new = np.flatnonzero(other[..., 0] | other[..., 1] | other[..., 2])
                shown = shown.copy()
                shown.ravel()[new] = self._looked_up(frame.reshape(-1, 3)[new])
            else:
                shown = self._looked_up(frame)
            last = frame
            image = Image.fromarray(shown)
            image.putpalette(self.palette.tobytes())
            yield image
            if progress is not None:
                progress(1)

    def _looked_up(self, pixels: np.ndarray) -> np.ndarray:
        words = _words(pixels)
        index = self._index[words]
        if index.size and index.min() < 0:
            self._learn(np.unique(words[index < 0]))
            index = self._index[words]
        return index.astype(np.uint8)

    def _learn(self, words: np.ndarray) -> None:
        for part in np.array_split(words, -(-len(words) // 4096)):
            away = (_rgb(part)[:, None].astype(np.int32) - self.palette) ** 2
            self._index[part] = away.sum(-1).argmin(-1)


def _sample(frames: int) -> list[int]:
    """The pictures from which the colours are taken, evenly over the film."""
    return np.unique(np.linspace(0, frames - 1, SAMPLE).round().astype(int)).tolist()


def _spread(common: np.ndarray, colours: np.ndarray, most: int) -> np.ndarray:
    """The common colours, and of all of them each time the one that is farthest from what was taken, `most` in all.

    So no colour is far from the palette, and a small red thing keeps its red.
    """
    every, taken = colours.astype(np.int32), list(common.astype(np.int32))
    away = np.min([((every - colour) ** 2).sum(1) for colour in taken], 0)
    while len(taken) < most and away.max() > 0:
        taken.append(every[away.argmax()])
        away = np.minimum(away, ((every - taken[-1]) ** 2).sum(1))
    return np.array(taken, np.uint8)


def _words(frame: np.ndarray) -> np.ndarray:
    """Colours as numbers below 2^24."""
    red, green, blue = (frame[..., i].astype(np.uint32) for i in range(3))
    return red << 16 | green << 8 | blue


def _rgb(words: np.ndarray) -> np.ndarray:
    return np.stack([words >> 16, words >> 8 & 255, words & 255], -1).astype(np.uint8)


def write_mp4(
    frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress | None = None
) -> None:
    """Write an MP4 that browsers play (H.264, yuv420p); ConfigError without the extra `video`."""
    av = _av()
    target = _checked(frames, path, fps)
    height, width = np.asarray(frames[0]).shape[:2]
    with _whole(target) as part, av.open(str(part), "w", format="mp4", options={"movflags": "faststart"}) as film:
        stream = film.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
        for i in range(len(frames)):
            film.mux(stream.encode(av.VideoFrame.from_ndarray(_even(np.asarray(frames[i])), format="rgb24")))
            if progress is not None:
                progress(1)
        film.mux(stream.encode())


def _av() -> Any:
    try:
        import av
    except ImportError:
        raise ConfigError("MP4 films are written by PyAV, which is missing: pip install 'harvestgym[video]'") from None
    return av


def _even(frame: np.ndarray) -> np.ndarray:
    """The picture with even sides, as H.264 stores colours for squares of four pixels."""
    height, width = frame.shape[:2]
    return np.ascontiguousarray(np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge"))


def check_target(path: str | Path, *suffixes: str) -> Path:
    """The path of a film to be written; ConfigError before any work if it cannot be, or if its extra is missing."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise ConfigError(f"{target}: wanted the name of a film, which ends in {' or '.join(suffixes)}")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ConfigError(f"{target}: wanted a file in a folder that exists; make the folder {target.parent} first")
    if target.suffix.lower() == ".mp4":
        _av()
    return target


def write(frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress | None = None) -> Path:
    """Write a film as what its name ends in, .gif or .mp4, and give its path; ConfigError if that cannot be done."""
    target = check_target(path, ".gif", ".mp4")
    (write_gif if target.suffix.lower() == ".gif" else write_mp4)(frames, target, fps, progress)
    return target


def _checked(frames: Sequence[np.ndarray], path: str | Path, fps: float) -> Path:
    if not len(frames):
        raise ConfigError("a film wants at least one picture, found none")
    if not 0 < fps <= 100:
        raise ConfigError(f"fps: wanted pictures of a second, above 0 and at most 100, found {fps}")
    first = np.asarray(frames[0])
    if first.dtype != np.uint8 or first.ndim != 3 or first.shape[2] != 3:
        raise ConfigError(f"a film wants pictures of uint8 (height, width, 3), found {first.dtype} {first.shape}")
    return Path(path)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` when it is whole, and leaves nothing if it is not."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
