"""Videos of an episode: GIF with Pillow, MP4 (H.264) with PyAV (extra `video`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from harvestgym.core.errors import ConfigError, check_extras
from harvestgym.core.view.scene import Scene
from harvestgym.core.view.timeline import Progress, ignore_progress

from .canvas import to_rgb

FPS = 10
"""Frames per second."""

DEFAULT_WIDTH = 960
"""Width of a frame, px."""

MAX_FRAMES = 600
"""Maximum number of frames; for a longer episode, every n-th step and the last one are shown."""

MOST_IDLE = 7
"""Most steps without events that a video shows at the end of an episode."""

LAST_FRAME_SECONDS = 2.0
"""How long a GIF shows its last frame before it repeats."""

PALETTE_FRAMES = 12
"""Frames from which the colours of a GIF are taken."""

PALETTE_SIZE = 255
"""Colours of a frame; the last of the 256 colours of a GIF marks an unchanged pixel."""


@dataclass(frozen=True)
class EpisodeFrames(Sequence[np.ndarray]):
    """The frames of an episode, uint8 (height, width, 3), each drawn on access; a notebook shows them as a GIF."""

    scene: Callable[[int], Scene]
    steps: Sequence[int]
    width: int = DEFAULT_WIDTH
    fps: float = FPS

    @classmethod
    def of(
        cls,
        scene: Callable[[int], Scene],
        steps: int,
        width: int = DEFAULT_WIDTH,
        most: int = MAX_FRAMES,
        last_event: int | None = None,
        fps: float = FPS,
    ) -> EpisodeFrames:
        """Choose frames among the steps 0 to `steps` - 1 of an episode, at most about `most`.

        If more than `MOST_IDLE` steps without actions or rewards follow `last_event`, only the last of them is shown.
        """
        idle = 0 if last_event is None else steps - 1 - last_event
        end = steps - 1 if last_event is None or idle <= MOST_IDLE else last_event + 2
        every = max(1, -(-end // most))
        return cls(scene, [*range(0, end, every), steps - 1], width, fps)

    @classmethod
    def of_record(
        cls,
        scene: Callable[..., Scene],
        env: Any,
        record: Any,
        width: int = DEFAULT_WIDTH,
        last_event: int | None = None,
        fps: float = FPS,
        most: int = MAX_FRAMES,
    ) -> EpisodeFrames:
        """Return the video of a recorded episode; `scene(env, record, step)` is the function of the family."""
        return cls.of(partial(scene, env, record), len(record["reward"]), width, most, last_event, fps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: Any) -> Any:
        return self.draw(self.steps[i])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} frames, {self.width} px wide, {self.fps:g} a second)"

    def _repr_html_(self) -> str:
        film = base64.b64encode(encode_gif(self, self.fps)).decode()
        return f'<img width="{self.width}" alt="film of an episode" src="data:image/gif;base64,{film}">'

    def draw(self, step: int) -> np.ndarray:
        """Draw a step of the episode."""
        return to_rgb(self.scene(step), self.width)


def write_gif(
    frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress = ignore_progress
) -> None:
    """Write a looping GIF; ConfigError if there are no frames, or the file cannot be written."""
    with _write_atomically(_check_frames(frames, path, fps)) as part:
        part.write_bytes(encode_gif(frames, fps, progress))


def encode_gif(frames: Sequence[np.ndarray], fps: float = FPS, progress: Progress = ignore_progress) -> bytes:
    """Return the bytes of a looping GIF."""
    drawn = {i: np.asarray(frames[i]) for i in _sample_frames(len(frames))}
    colours = Palette.of(list(drawn.values()))
    stills = colours.stills((drawn[i] if i in drawn else frames[i] for i in range(len(frames))), progress)
    # A GIF counts in hundredths of a second, and many programs show a delay below two of them as ten.
    each = 10 * max(2, round(100 / fps))
    durations = [each] * (len(frames) - 1) + [max(each, round(1000 * LAST_FRAME_SECONDS))]
    film = BytesIO()
    # With `optimize` Pillow stores only the changes from one picture to the next: a fifth of the bytes.
    next(stills).save(
        film, "GIF", save_all=True, append_images=stills, duration=durations, loop=0,
        optimize=True, transparency=PALETTE_SIZE,
    )  # fmt: skip
    return film.getvalue()


class Palette:
    """One palette for all frames, which is smaller and does not flicker.

    Pillow merges similar colours, so white paper would turn grey. Here the most frequent colours stay exact, and each
    other colour becomes the nearest of the palette.
    """

    def __init__(self, palette: np.ndarray) -> None:
        self.palette = palette
        self._index = np.full(2**24, -1, np.int16)

    @classmethod
    def of(cls, frames: Sequence[np.ndarray]) -> Palette:
        """Choose the palette of a video from some of its frames."""
        seen, fourth = np.zeros(2**24, bool), []
        for i in _sample_frames(len(frames)):
            words = _to_numbers(np.asarray(frames[i]))
            seen[words] = True
            fourth.append(words[::2, ::2].ravel())
        # A quarter of the pixels shows which colours are common.
        found, count = np.unique(np.concatenate(fourth), return_counts=True)
        common = found[np.argsort(-count, kind="stable")][: PALETTE_SIZE // 2]
        return cls(_spread_colours(_from_numbers(common), _from_numbers(np.flatnonzero(seen)), PALETTE_SIZE))

    def stills(self, frames: Iterable[np.ndarray], progress: Progress = ignore_progress) -> Iterator[Image.Image]:
        """Convert frames to these colours; only changed pixels are looked up."""
        last, shown = np.zeros(0, np.uint8), np.zeros(0, np.uint8)
        for frame in frames:
            if frame.shape == last.shape:
                other = frame != last
                new = np.flatnonzero(other[..., 0] | other[..., 1] | other[..., 2])
                shown = shown.copy()
                shown.ravel()[new] = self._look_up(frame.reshape(-1, 3)[new])
            else:
                shown = self._look_up(frame)
            last = frame
            image = Image.fromarray(shown)
            image.putpalette(self.palette.tobytes())
            yield image
            progress(1)

    def _look_up(self, pixels: np.ndarray) -> np.ndarray:
        words = _to_numbers(pixels)
        index = self._index[words]
        if index.size and index.min() < 0:
            self._learn(np.unique(words[index < 0]))
            index = self._index[words]
        return index.astype(np.uint8)

    def _learn(self, words: np.ndarray) -> None:
        for part in np.array_split(words, -(-len(words) // 4096)):
            away = (_from_numbers(part)[:, None].astype(np.int32) - self.palette) ** 2
            self._index[part] = away.sum(-1).argmin(-1)


def _sample_frames(frames: int) -> list[int]:
    """Return the indices of the frames from which the colours are taken, evenly spaced."""
    return np.unique(np.linspace(0, frames - 1, PALETTE_FRAMES).round().astype(int)).tolist()


def _spread_colours(common: np.ndarray, colours: np.ndarray, most: int) -> np.ndarray:
    """Extend the common colours by the colour farthest from those chosen, repeatedly, to `most` in all.

    So no colour is far from the palette, and even a small red object stays red.
    """
    every, taken = colours.astype(np.int32), list(common.astype(np.int32))
    away = np.min([((every - colour) ** 2).sum(1) for colour in taken], 0)
    while len(taken) < most and away.max() > 0:
        taken.append(every[away.argmax()])
        away = np.minimum(away, ((every - taken[-1]) ** 2).sum(1))
    return np.array(taken, np.uint8)


def _to_numbers(frame: np.ndarray) -> np.ndarray:
    """Encode colours as numbers below 2^24."""
    red, green, blue = (frame[..., i].astype(np.uint32) for i in range(3))
    return red << 16 | green << 8 | blue


def _from_numbers(words: np.ndarray) -> np.ndarray:
    return np.stack([words >> 16, words >> 8 & 255, words & 255], -1).astype(np.uint8)


def write_mp4(
    frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress = ignore_progress
) -> None:
    """Write an MP4 that browsers play (H.264, yuv420p); ConfigError without the extra `video`."""
    check_extras("MP4", video="av")
    import av

    target = _check_frames(frames, path, fps)
    height, width = np.asarray(frames[0]).shape[:2]
    with (
        _write_atomically(target) as part,
        av.open(str(part), "w", format="mp4", options={"movflags": "faststart"}) as film,
    ):
        stream = film.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
        for i in range(len(frames)):
            film.mux(stream.encode(av.VideoFrame.from_ndarray(_pad_to_even(np.asarray(frames[i])), format="rgb24")))
            progress(1)
        film.mux(stream.encode())


def _pad_to_even(frame: np.ndarray) -> np.ndarray:
    """Pad a frame to even height and width, because H.264 stores colours for squares of four pixels."""
    height, width = frame.shape[:2]
    return np.ascontiguousarray(np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge"))


def check_video_path(path: str | Path, *suffixes: str) -> Path:
    """Check the path of a video before any work; ConfigError if it cannot be written, or its extra is missing."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        name, got = target.stem.strip(".") or "season", target.suffix or "no suffix"
        raise ConfigError(f"{target}: expected a name in {' or '.join(suffixes)}, got {got}; try "
                          f"{target.parent / (name + suffixes[0])}")  # fmt: skip
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ConfigError(f"{target}: expected an existing folder, got none; try creating {target.parent} first")
    if target.suffix.lower() == ".mp4":
        check_extras("MP4", video="av")
    return target


def write_video(
    frames: Sequence[np.ndarray], path: str | Path, fps: float = FPS, progress: Progress = ignore_progress
) -> Path:
    """Write a video, .gif or .mp4 by the suffix, and return its path; ConfigError if that cannot be done."""
    target = check_video_path(path, ".gif", ".mp4")
    (write_gif if target.suffix.lower() == ".gif" else write_mp4)(frames, target, fps, progress)
    return target


def _check_frames(frames: Sequence[np.ndarray], path: str | Path, fps: float) -> Path:
    if not len(frames):
        raise ConfigError("video: expected at least one frame, got none")
    if not 0 < fps <= 100:
        raise ConfigError(f"fps: expected frames per second above 0 and at most 100, got {fps}")
    first = np.asarray(frames[0])
    if first.dtype != np.uint8 or first.ndim != 3 or first.shape[2] != 3:
        raise ConfigError(f"video: expected frames of uint8 (height, width, 3), got {first.dtype} {first.shape}")
    return Path(path)


@contextmanager
def _write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` on success and is removed on failure."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
