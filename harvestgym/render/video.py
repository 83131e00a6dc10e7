"""Videos of an episode: GIF with Pillow, MP4 (H.264) with PyAV (extra `video`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

from harvestgym.core.errors import check_extras, check_parent, check_suffix, mismatch, require
from harvestgym.core.view.scene import Scene
from harvestgym.core.view.timeline import Progress, ignore_progress

from . import DEFAULT_WIDTH
from .canvas import to_rgb

FPS = 10
"""Frames per second."""

MAX_FRAMES = 600
"""Maximum number of frames; for longer episodes, every n-th step and the last one are shown."""

MOST_IDLE = 7
"""Maximum number of steps without actions or rewards that a video shows at the end of an episode."""

LAST_FRAME_SECONDS = 2.0
"""Time for which a GIF shows its last frame before it repeats."""

PALETTE_FRAMES = 12
"""Number of frames that determine the colours of a GIF."""

PALETTE_SIZE = 255
"""Number of colours in a frame; the last of the 256 colours of a GIF marks unchanged pixels."""

Frames = Sequence[np.ndarray]
"""The pictures of a video, uint8 (height, width, 3)."""


def choose_steps(steps: int, most: int = MAX_FRAMES, last_event: int | None = None) -> list[int]:
    """Choose up to about `most` of the steps 0 to `steps` - 1 of an episode for a video.

    If more than `MOST_IDLE` steps without actions or rewards follow `last_event`, only the last step is shown.
    """
    idle = 0 if last_event is None else steps - 1 - last_event
    end = steps - 1 if last_event is None or idle <= MOST_IDLE else last_event + 2
    return [*range(0, end, max(1, -(-end // most))), steps - 1]


@dataclass(frozen=True)
class EpisodeFrames(Sequence[np.ndarray]):
    """The frames of an episode, uint8 (height, width, 3), each drawn on access; a notebook shows them as a GIF."""

    scene: Callable[[int], Scene]
    steps: Sequence[int]
    width: int = DEFAULT_WIDTH
    fps: float = FPS

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: Any) -> Any:
        return to_rgb(self.scene(self.steps[i]), self.width)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} frames, {self.width} px wide, {self.fps:g} a second)"

    def _repr_html_(self) -> str:
        film = base64.b64encode(encode_gif(self, self.fps)).decode()
        return f'<img width="{self.width}" alt="video of an episode" src="data:image/gif;base64,{film}">'


def encode_gif(frames: Frames, fps: float = FPS, progress: Progress = ignore_progress) -> bytes:
    """Return the bytes of a GIF that loops."""
    stills = _convert_frames(frames, progress)
    # GIF delays are in hundredths of a second, and many programs treat delays below two as ten.
    each = 10 * max(2, round(100 / fps))
    times = [each] * (len(frames) - 1) + [max(each, round(1000 * LAST_FRAME_SECONDS))]
    # With `optimize`, Pillow omits the parts that do not change between frames: a fifth of the bytes.
    options = {"optimize": True, "transparency": PALETTE_SIZE}
    film = BytesIO()
    next(stills).save(film, "GIF", save_all=True, append_images=stills, duration=times, loop=0, **options)
    return film.getvalue()


def _convert_frames(frames: Frames, progress: Progress) -> Iterator[Image.Image]:
    """Convert all frames to one shared palette, which is smaller and avoids flicker.

    Among Pillow's methods, maximum coverage preserves the white background and the colours of small marks.
    """
    chosen = np.unique(np.linspace(0, len(frames) - 1, PALETTE_FRAMES).round().astype(int))
    sample = Image.fromarray(np.concatenate([np.asarray(frames[i]) for i in chosen]))
    palette = sample.quantize(PALETTE_SIZE, Image.Quantize.MAXCOVERAGE)
    for i in range(len(frames)):
        yield Image.fromarray(np.asarray(frames[i])).quantize(palette=palette, dither=Image.Dither.NONE)
        progress(1)


def encode_mp4(frames: Frames, fps: float = FPS, progress: Progress = ignore_progress) -> bytes:
    """Return the bytes of an MP4 that browsers can play (H.264, yuv420p); needs the extra `video`."""
    import av

    height, width = np.asarray(frames[0]).shape[:2]
    even = ((0, height % 2), (0, width % 2), (0, 0))  # H.264 stores one colour per square of four pixels
    with TemporaryDirectory() as folder:
        file = Path(folder) / "film.mp4"  # PyAV can move the index to the start only in a file
        with av.open(str(file), "w", options={"movflags": "faststart"}) as film:
            stream = film.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options={"crf": "20"})
            stream.width, stream.height, stream.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
            for i in range(len(frames)):
                picture = np.ascontiguousarray(np.pad(frames[i], even, mode="edge"))
                film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
                progress(1)
            film.mux(stream.encode())
        return file.read_bytes()


def check_video_path(path: str | Path, *suffixes: str) -> Path:
    """Check a video's path before any work; raise ConfigError if it cannot be written or its extra is missing."""
    target = check_parent(check_suffix(Path(path), *suffixes))
    if target.suffix.lower() == ".mp4":
        check_extras("MP4", video="av")
    return target


def write_video(frames: Frames, path: str | Path, fps: float = FPS, progress: Progress = ignore_progress) -> Path:
    """Write a video, .gif or .mp4 depending on the suffix, and return its path; ConfigError if that is impossible."""
    target = check_video_path(path, ".gif", ".mp4")
    require(len(frames), "video", "at least one frame", "none")
    require(0 < fps <= 100, "fps", "frames per second above 0 and at most 100", fps)
    first = np.asarray(frames[0])
    if first.dtype != np.uint8 or first.ndim != 3 or first.shape[2] != 3:
        raise mismatch("video", "frames of uint8 (height, width, 3)", f"{first.dtype} {first.shape}")
    encode = encode_gif if target.suffix.lower() == ".gif" else encode_mp4
    target.write_bytes(encode(frames, fps, progress))
    return target
