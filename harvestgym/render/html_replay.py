"""An episode as one self-contained HTML file: pictures, charts of any variable, actions, rewards and events.

The file contains the complete record without loss; `examples/read_replay.py` reads it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from harvestgym.core.view.events import say_event
from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Sprite, Words
from harvestgym.core.view.timeline import Progress, Timeline, Track, ignore_progress
from harvestgym.core.yaml_io import read_text

from . import layout
from .svg import SvgPainter, draw_panel

ASSETS = Path(__file__).parent
SCRIPTS = ("replay_data.js", "replay_charts.js", "replay.js")
"""Scripts of the page, in the order in which they are concatenated."""

ALIGNMENT = 8
"""Alignment of arrays in bytes, as required by typed arrays in browsers."""


Views = Mapping[str, Callable[[int], Scene]]

MAX_PICTURES = 500
"""Maximum number of pictures per view; for longer episodes, every n-th step is drawn."""

MAP_WIDTH, CHART_WIDTH = 720, 360
"""Widths of the pages on which single panels are drawn, px; only the map itself is taken from the page of a map."""


def to_html(title: str, about: str, story: Timeline, views: Views, progress: Progress = ignore_progress) -> str:
    """Write the page of an episode; `views` maps view names (`true`, `observed`) to functions from step to scene.

    Needs the extra `plot`, whose chart library is embedded in the page; `progress` is called for every picture.
    """
    from plotly.offline import get_plotlyjs

    packed = ArrayPacker()
    pictures = EpisodePictures(views, len(story.when), progress)
    data = _describe_episode(title, about, story, pictures, packed)
    charts = get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")  # as browsers do before they hash a script
    own = "\n".join(read_text(ASSETS / name) for name in SCRIPTS)
    return Template(read_text(ASSETS / "replay.html")).substitute(
        title=escape(title),
        about=escape(about),
        policy=escape(_security_policy(charts, own), quote=True),
        style=read_text(ASSETS / "replay.css"),
        symbols=pictures.symbols,
        story=_to_json(data),
        arrays=packed.text(),
        pictures=_compress(_to_json(pictures.frames).encode()),
        charts=charts,
        own=own,
    )


class EpisodePictures:
    """The pictures of the `steps` steps of an episode, by view.

    Attributes:
        frames: `parts`, the distinct lines of SVG and text, and `views`. Each view has `drawings`, with the indices of
            the parts of each panel (title, view box, lines), and `words`, with the indices of the title and lines of
            the scene's first `Words`. The page itself writes the other words (actions, reward).
        symbols: the sprites shared by all pictures, as SVG.
        legend: `[svg, meaning]` for everything that is drawn in any step.
        every: the number of steps between pictures.
    """

    def __init__(self, views: Views, steps: int, progress: Progress = ignore_progress) -> None:
        self.every = max(1, -(-steps // MAX_PICTURES))
        self._parts: dict[str, int] = {}
        self._symbols: dict[Sprite, str] = {}
        self._marks: dict[str, Mark] = {}
        shown = range(0, steps, self.every)
        drawn = {name: self._draw_view(scene, shown, progress) for name, scene in views.items()}
        self.legend = [(self._draw_icon(mark), meaning) for meaning, mark in self._marks.items()]
        self.frames = {"parts": list(self._parts), "views": drawn}
        self.symbols = "".join(self._symbols.values())

    def _draw_view(self, scene: Callable[[int], Scene], steps: range, progress: Progress) -> dict[str, Any]:
        drawings, words = [], []
        for step in steps:
            now = scene(step)
            for mark in now.legend:
                self._marks.setdefault(mark.meaning, mark)
            shown = now.select(Map) or now.select(Chart)
            drawings.append([self._draw_panel(panel) for panel in shown])  # the page itself adds words and legend
            said = next(iter(now.select(Words)), Words("", ()))
            words.append([self._store(line) for line in (said.title, *said.lines)])
            progress(1)
        return {"drawings": drawings, "words": words}

    def _draw_panel(self, panel: Map | Chart) -> list[int]:
        """Draw a single panel on its own page; return its title, view box and lines."""
        painter = SvgPainter(self._symbols)
        title, width = (panel.title, MAP_WIDTH) if isinstance(panel, Map) else ("", CHART_WIDTH)
        box, _ = draw_panel(panel, painter, width)
        return [self._store(part) for part in (title, " ".join(f"{n:g}" for n in box), *painter.parts)]

    def _store(self, part: str) -> int:
        return self._parts.setdefault(part, len(self._parts))

    def _draw_icon(self, mark: Mark) -> str:
        """Draw a single mark as an `<svg>` element."""
        painter = SvgPainter(self._symbols)
        layout.draw_mark(mark, painter, 12, 12, 22)
        return f'<svg viewBox="0 0 24 24" aria-hidden="true">{"".join(painter.parts)}</svg>'


class ArrayPacker:
    """A packer that stores arrays one after another as bytes; each has a type, a shape and an offset."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def put(self, values: Any) -> list[Any]:
        """Add an array and return its `[type, shape, offset]`."""
        array, place = np.asarray(values), len(self._bytes)
        self._bytes += array.astype(array.dtype.newbyteorder("<")).tobytes()
        self._bytes += b"\0" * (-len(self._bytes) % ALIGNMENT)
        return [array.dtype.name, list(array.shape), place]

    def text(self) -> str:
        """Return all arrays as compressed text."""
        return _compress(self._bytes)


def _describe_episode(
    title: str, about: str, story: Timeline, pictures: EpisodePictures, packed: ArrayPacker
) -> dict[str, Any]:
    return {
        "title": title,
        "about": about,
        "when": list(story.when),
        "watcher": story.watcher,
        "record": {name: packed.put(values) for name, values in story.record.items()},
        "tracks": [_describe_track(track, packed) for track in story.tracks],
        "first": [[t.name for t in story.tracks].index(name) for name in story.first],
        "actions": [[a.step, a.subject, a.cost or 0.0, a.outcome] for a in story.actions],
        "gains": {name: packed.put(values) for name, values in story.gains.items()},
        "costs": {name: packed.put(values) for name, values in story.costs.items()},
        "events": [[event.step, say_event(event)] for event in story.events],
        "notes": story.notes,
        "messages": story.messages,
        "every": pictures.every,
        "legend": pictures.legend,
        "last": story.last_event,
    }


def _describe_track(track: Track, packed: ArrayPacker) -> dict[str, Any]:
    arrays = {"observed_mask": track.observed_mask, "observed_values": track.observed_values}
    packed_arrays = {name: None if values is None else packed.put(values) for name, values in arrays.items()}
    return vars(track) | {"codes": {str(code): word for code, word in track.codes.items()}} | packed_arrays


def _security_policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts and no requests."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _to_json(data: Any) -> str:
    """Write JSON that is safe inside an HTML element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _compress(raw: bytes | bytearray) -> str:
    return base64.b64encode(zlib.compress(raw, 9)).decode()
