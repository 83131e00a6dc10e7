"""Rendering outside compiled code: scenes from `core.view.scene` as pixels, SVG, text, videos and pages.

Every environment that draws scenes has the render modes for pixels, text and SVG.
"""

from __future__ import annotations

from typing import Any

from harvestgym.core.loading import load_object
from harvestgym.core.view.scene import Scene

RENDERERS = {"rgb_array": "canvas:to_rgb", "ansi": "text:to_text", "svg": "svg:to_svg"}
"""The module here and the function of each mode, loaded on first use, because importing Pillow takes time."""

RENDER_MODES = tuple(RENDERERS)

DEFAULT_WIDTH = 960
"""Default width of "rgb_array" images, px, used unless `render_width` is given."""


def render_scene(scene: Scene, mode: str, width: int) -> Any:
    """Draw a scene in one of the `RENDER_MODES`; `width` is the width of "rgb_array", px."""
    return load_object(f"harvestgym.render.{RENDERERS[mode]}")(scene, *((width,) if mode == "rgb_array" else ()))
