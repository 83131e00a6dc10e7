"""Draw docs/pictures/architecture.svg: the layers of the package, from the import order in tools/structure.py.

python -m tools.make_architecture
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from tools.structure import FAMILIES, LAYERS, ORDERS

FILE = Path(__file__).parents[1] / "docs" / "pictures" / "architecture.svg"
WIDTH, GAP, LEFT = 960, 14, 20
SAYS = {
    "cli": "the command line", "text": "games for language models", "play": "the browser game",
    "adapters": "other libraries", "evaluate": "runs, records, scores", "testing": "contract tests",
    "sweep": "cases as data, run in one process or on a cluster",
    "farm": "Farm-Gym", "fishing": "fisheries", "forager": "foraging worlds",
    "gym": "Gymnasium and vector environments", "render": "pixels, SVG, text, HTML, video",
    "core": "contract, pytrees, random numbers, rollouts, checkpoints; xla/ is all code that depends on XLA internals",
}  # fmt: skip
COLOURS = {"farm": "#e8f1e0", "fishing": "#e0ecf5", "forager": "#f5ecdc"}


def text(x: float, y: float, words: str, size: int = 14, weight: str = "normal", colour: str = "#222") -> str:
    """Return an SVG line of text that starts at (x, y)."""
    style = f'font-size="{size}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, name: str) -> list[str]:
    """Draw the box of a folder: its name, one line about it and, for a family, its layers from top to bottom."""
    colour = COLOURS.get(name, "#f4f3f0")
    shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" fill="{colour}" stroke="#bbb"/>'
    lines = [shape, text(x + 12, y + 24, f"{name}/", 17, "bold"), text(x + 12, y + 43, SAYS[name], 12, colour="#555")]
    for row, layer in enumerate(reversed(ORDERS.get(name, ()))):
        for part, words in enumerate(_wrapped(layer)):
            lines.append(text(x + 12, y + 66 + 17 * (_rows(name, row) + part), words, 12))
    return lines


def _wrapped(layer: tuple[str, ...], most: int = 3) -> list[str]:
    return [", ".join(layer[i : i + most]) for i in range(0, len(layer), most)]


def _rows(family: str, upto: int | None = None) -> int:
    """Return the number of text lines that the layers of a family above `upto` occupy in its box."""
    return sum(len(_wrapped(layer)) for layer in list(reversed(ORDERS.get(family, ())))[:upto])


def draw() -> str:
    """Return the diagram as SVG; upper layers import lower ones."""
    y, lines = 46.0, [text(LEFT, 28, "Each folder imports only folders below it.", 14, colour="#555")]
    for layer in reversed(LAYERS):
        height = 56 + (10 + 17 * max(_rows(name) for name in FAMILIES) if layer == FAMILIES else 0)
        width = (WIDTH - 2 * LEFT - GAP * (len(layer) - 1)) / len(layer)
        for at, name in enumerate(layer):
            lines += box(LEFT + at * (width + GAP), y, width, height, name)
        y += height + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:g}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{y:g}" fill="#fff"/>', *lines, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
