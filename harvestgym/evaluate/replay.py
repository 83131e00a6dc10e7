"""A recorded episode of any family as one HTML file, to look at without a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harvestgym.core.timeline import Record
from harvestgym.registry import family_function
from harvestgym.render.html_replay import to_html


def write_replay(
    id: str,
    env: Any,
    record: Record,
    path: str | Path,
    title: str = "",
    about: str = "",
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Write the page of a record that `record_episode` made; needs the extra `plot`.

    Args:
        title, about: at the head of the page; by default the id and nothing.
        progress: told of every picture that is drawn.
    """
    timeline, scene = family_function(id, "timeline")(env, record), family_function(id, "scene")
    shown = {"true": record} | ({} if timeline.known is None else {"observed": timeline.known})
    views = {name: partial(scene, env, of) for name, of in shown.items()}
    path = Path(path)
    path.write_text(to_html(title or id, about, timeline, views, progress), encoding="utf-8", newline="\n")
    return path
