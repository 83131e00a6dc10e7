"""Tables about an environment, derived from the metadata of its fields."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from harvestgym.core.pytree import WIDE, Meta, iterate_metas


class Table(NamedTuple):
    """A titled table of strings; `sections` names the sections of `harvestgym show` that print it.

    Notebooks show it as HTML, and `print` as text. If `columns` is empty, there is no header.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    sections: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the table as text, with aligned columns."""
        lines = [row for row in (self.columns, *self.rows) if row]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        return "\n".join([self.title, *("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """Return the table as HTML, with the first cell of each row as its header."""
        heads = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        cells = ((escape(row[0]), "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])) for row in self.rows)
        rows = "".join(f"<tr><th>{name}</th>{rest}</tr>" for name, rest in cells)
        return f"<table><caption>{escape(self.title)}</caption>{f'<tr>{heads}</tr>' * bool(heads)}{rows}</table>"


class Tabular:
    """A result that notebooks show as a table, with a few lines below it."""

    def to_table(self) -> Table:
        """Make the table."""
        raise NotImplementedError

    def describe(self) -> list[str]:
        """Return the lines below the table."""
        return []

    def _repr_html_(self) -> str:
        """Return the table and the lines for notebooks."""
        return self.to_table()._repr_html_() + "".join(f"<p>{escape(line)}</p>" for line in self.describe())


def format_value(value: Any) -> str:
    """Format a value for people: four significant digits, `yes` or `no`, nothing if missing, words unchanged."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:z.4g}" if isinstance(value, float) else str(value)


def round_number(number: float) -> float:
    """Round a number to six significant digits, the precision of float32, so that -0.0075 is printed as it is."""
    return float(f"{number:.6g}")


def describe_range(meta: Meta) -> str:
    """Describe the range of a field: its labels, or an interval."""
    if meta.labels:
        return ", ".join(meta.labels)
    if meta.dtype == "bool":
        return "no, yes"
    if meta.is_open_above:
        return "any" if meta.low <= -WIDE else f"at least {meta.low:g}"
    return f"{meta.low:g} to {meta.high:g}"


def make_spaces_table(env: Any, action: str, observation: str) -> Table:
    """Return the table of the spaces of an environment, with the meanings of an action and an observation."""
    rows = [("action", str(env.action_space), action), ("observation", str(env.observation_space), observation)]
    return Table("Action and observation", ("name", "space", "meaning"), rows, ("actions", "observations"))


def make_fields_table(title: str, cls: Any, section: str) -> Table:
    """List the described fields of a pytree class or instance with key, range and meaning."""
    rows = [(key, describe_range(meta), meta.doc) for _, meta in iterate_metas(cls) for key in meta.keys]
    return Table(title, ("name", "range", "meaning"), rows, (section,))
