"""A farm in text: the weather, the plots in ranges with exceptions, and orders for plots."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np

from harvestgym.core.errors import check_each_name, require
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.soil.equations import Bucket
from harvestgym.farm.entities.soil.soil import Soil
from harvestgym.farm.view.words import (
    code_labels,
    date_of_step,
    key_unit,
    key_words,
    name_things,
    say_order,
    unit_words,
)
from harvestgym.play.farm_session import FarmSession

from .farm_orders import FarmOrders
from .phrases import TEXT_WORDS
from .view import Quantity, TextView, name_condition

SUMMARY_KEY = "global_stage"
"""The key of the summary of the plots' stages, which says nothing new on a single plot."""

NAMES = TEXT_WORDS["names"]
"""Names of quantities whose keys are not what people call them; any other is named by its key in words."""

OF_KIND = TEXT_WORDS["of a kind"]
"""Names of quantities that count an entity, from its noun."""

TEMPERATURE_KEYS = ("air_temperature/min#°C", "air_temperature/mean#°C", "air_temperature/max#°C")

NO_EFFECT = "no effect"
"""The end of the sentence about an order that changed nothing."""

CALENDAR = "day#int365"
"""The key of the date, which the first line shows."""

MOST_EXCEPTIONS = 4
"""Maximum number of plots that are listed one by one."""


class FarmText(TextView):
    """A season in words."""

    unit = "day"
    session: FarmSession

    def __init__(self, session: FarmSession) -> None:
        super().__init__(session)
        self.orders = FarmOrders(session.env)
        self.first_words = frozenset(self.orders.first_words)
        self.setbacks: list[tuple[int, str]] = []
        """The orders that were refused or had no effect, as far as the player knows, with the step after them."""

    # Orders.

    def list_goals(self) -> list[str]:
        """Return the goals with the names of quantities as in the rest of the text."""
        named = {f"{v.where[1]}.{v.key.partition('#')[0]}": name for name, v in self._by_name.items()}
        return [re.sub(r"[\w-]+\.[\w/]+", lambda found: named.get(found[0], found[0]), g) for g in super().list_goals()]

    def list_orders(self) -> list[tuple[str, str]]:
        return self.orders.list_templates()

    def list_hints(self) -> list[str]:
        env = self.session.env
        hints = [f"Orders a day: at most {env.schedule}."]
        for name, soil in self._soils.items():
            ends = f"{soil.wilting:.4g} L, at which plants wilt, to {soil.capacity:.4g} L at field capacity"
            hints.append(f"Water of a plot in {name}: {ends}.")
        if len(plots := max((row.plots for row in env.actions.rows), key=len)) > 1:
            x, y = max(plot for plot in plots if plot is not None)
            hints.append(f"PLOTS: 0,0 to {x},{y}, several of them, row N (the second number), column N, or all.")
        stages = next((v for v in env.variables if v.key == "stage"), None)
        if stages is not None:
            hints.append(f"Stages of a plant: {', '.join(code_labels(stages.meta))}.")
        if self.looks:
            offered = ", ".join(f"{name} ({price:.3g})" for name, price in self.looks.items())
            hints.append(f"observe QUANTITY, ...: pays for what you name, once a day; prices: {offered}.")
        return hints

    @property
    def example_limit(self) -> str:
        known = self.list_quantities()
        drier = (f"water < {(soil.capacity + soil.wilting) / 2:.0f}" for soil in self._soils.values())
        return next(drier, "") * ("water" in known) or name_condition(known)

    @cached_property
    def _soils(self) -> dict[str, Bucket]:
        """The litres of a plot in each field where they are the same in all seasons."""
        env = self.session.env
        fields = () if env.contexts.draws else zip(env.fields, env.params.fields, strict=True)
        return {field.name: soil.bucket(params.place) for field, params in fields
                for soil in params.entities if isinstance(soil, Soil)}  # fmt: skip

    @cached_property
    def looks(self) -> dict[str, float]:
        """The price of observing all numbers of each quantity that has a price."""
        prices: dict[str, float] = {}
        items = self.session.env.offered.items if self.session.env.asks else ()
        for item, price in zip(items, self.session.prices if items else (), strict=True):
            name = self.names[item.variable.name]
            prices[name] = prices.get(name, 0.0) + float(price)
        return prices

    def list_examples(self) -> list[str]:
        return self.orders.list_examples()

    def queue(self, line: str) -> list[str]:
        orders, most = self.orders.parse(line), self.session.env.schedule
        count = len(self.session.orders) + len(orders)
        require(count <= most, repr(line), f"at most {most} orders a day", f"{count}; try: done, or clear")
        return [say_order(self.session.env, self.session.add(order)) for order in orders]

    def list_queued(self) -> list[str]:
        return [say_order(self.session.env, order) for order in self.session.orders]

    def clear(self) -> None:
        self.session.orders.clear()

    def finish(self) -> None:
        today = self.session.when(self.session.steps)
        self.session.end_day()
        # Where looks cost money, an order without effect would show for free what was not looked at.
        known = [line for line in self.session.setbacks if not (self.session.env.asks and line.endswith(NO_EFFECT))]
        self.setbacks += [(self.session.steps, f"{today}: {line}") for line in known]

    def observe(self, line: str) -> str:
        """Pay for all numbers of some quantities: `observe water, stage`."""
        if not self.session.env.asks:
            return super().observe(line)
        asked = [name.strip() for name in line.replace(" and ", ",").split(",") if name.strip()]
        check_each_name("observe", asked, self.looks)
        items = self.session.env.offered.items
        chosen = [i for i, item in enumerate(items) if self.names[item.variable.name] in asked]
        require(chosen, "observe", f"some of {', '.join(self.looks)}", "nothing")
        cost = self.session.look(chosen)
        return f"Observed for {cost:.3g} points: {', '.join(self._say(name) for name in asked)}."

    def list_news(self, since: int) -> list[str]:
        return [*(line for step, line in self.setbacks if step > since), *super().list_news(since)]

    # Observations.

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of each variable; with its entity if several have the same, and its field if there are several."""
        env = self.session.env
        nouns = name_things(env)
        visible = [v for v in env.variables if (env.full_plan.positions.get(v.name, np.asarray(-1)) >= 0).any()]
        plain = {v.name: self._name(v, nouns) for v in visible}
        counts = Counter((v.field, plain[v.name]) for v in visible)
        out = {}
        for v in visible:
            owner = f"{nouns[v.where]} " * (counts[v.field, plain[v.name]] > 1)
            out[v.name] = owner + plain[v.name] + f" in {v.where[0]}" * (len(env.fields) > 1)
        return out

    @staticmethod
    def _name(variable: Variable, nouns: dict[tuple[str, str], str]) -> str:
        noun = nouns[variable.where]
        base = variable.key.partition("/Plant")[0].partition("/Weeds")[0]
        if base in OF_KIND and noun != "plant":
            return OF_KIND[base].format(noun)
        return NAMES.get(variable.key, key_words(variable.key))

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {self.names[v.name]: v for v in self.session.env.variables if v.name in self.names}

    def list_quantities(self) -> dict[str, Quantity]:
        known = {name: self._read(variable) for name, variable in self._by_name.items() if self._is_known(variable)}
        return known | dict(self._list_drawn())

    def _list_drawn(self) -> Iterator[tuple[str, Quantity]]:
        """Yield what was drawn for the season and is observed, at the end of the observation, and its forecast."""
        env, obs = self.session.env, self.session.obs
        start = len(obs["values"] if env.asks else obs) - len(env.contexts.features)
        values = iter((obs["values"] if env.asks else obs)[start:])
        for lead in range(env.contexts.lookahead + 1):
            for draw in (draw for draw in env.contexts.draws if draw.shown):
                part = np.asarray([next(values) for _ in draw.features])
                name = self.name_draw(draw.name) + f" in {lead} days" * (lead > 0)
                if draw.kind == "choice":
                    yield name, Quantity(np.asarray(part.argmax()), labels=draw.labels)
                elif draw.kind == "range":
                    yield name, Quantity(part[0], key_unit(draw.name))
                else:
                    mixed = zip(draw.labels, part, strict=True)
                    yield from ((f"share of {label} in {name}", Quantity(share)) for label, share in mixed)

    def name_draw(self, path: str) -> str:
        """Return the name of a draw: `site` for a whole field, or the entity and its parameter."""
        env = self.session.env
        field, entity, key = [*path.split("/", 2), "", ""][:3]
        noun = name_things(env)[field, entity] if entity else "site"
        return f"{noun} {key_words(key)}".strip() + f" in {field}" * (len(env.fields) > 1)

    def _is_known(self, variable: Variable) -> bool:
        return bool((self.session.known[variable.name].steps >= 0).any())

    def _read(self, variable: Variable) -> Quantity:
        values, steps = self.session.known[variable.name]
        days = self.session.env.steps_per_day
        age = self.session.steps // days - int(np.max(steps)) // days
        fresh = self.names[variable.name] not in self.looks
        return Quantity(values, key_unit(variable.key), code_labels(variable.meta), age, fresh)

    # Words.

    def describe(self) -> str:
        return "\n".join(self._list_lines(self._say_briefly))

    def look(self) -> str:
        return "\n".join(self._list_lines(lambda names: map(self._say_all, names)))

    def _list_lines(self, say: Callable[[list[str]], Iterable[str]]) -> Iterator[str]:
        session = self.session
        calendar = {name: part.values[None] for name, part in session.known.items() if name.endswith(CALENDAR)}
        date = date_of_step(session.env, calendar, -1)
        yield f"Day {session.time} of {session.days}{f', {date}' if date else ''}. Points {session.total:.4g}."
        if drawn := [f"{name} {_say_exactly(q.values.item(), q)}" for name, q in self._list_drawn()]:
            yield f"This season: {', '.join(drawn)}."
        several = len(session.env.fields) > 1
        for f, field in enumerate(session.env.fields):
            for per_plot, title in ((False, "Field"), (True, "Plots")):
                shown = {n: v for n, v in self._by_name.items() if (v.field, v.per_plot) == (f, per_plot)}
                if names := [n for n, v in shown.items() if v.key != CALENDAR and self._is_known(v)]:
                    text = ", ".join(say(names))
                    text = text.replace(f" in {field.name}", "") if several else text
                    yield f"{field.name} {title.lower()}: {text}." if several else f"{title}: {text}."

    def _say_briefly(self, names: list[str]) -> Iterator[str]:
        """Yield the quantities in words: three temperatures together, and those that are 0 everywhere at the end."""
        known = {name: self._read(self._by_name[name]) for name in names}
        zero = [name for name, quantity in known.items() if _is_zero(quantity)]
        by_key = {self._by_name[name].key: name for name in names}
        low, mean, high = (by_key.get(key, "") for key in TEMPERATURE_KEYS)
        for name in names:
            if low and mean and high and name in (low, mean, high):
                if name == mean:
                    ends = " to ".join(_say_value(float(known[end].values), known[end]) for end in (low, high))
                    yield f"temperature {ends} °C, {self._say(mean).replace('temperature', 'mean', 1)}"
            elif name not in zero and not self._repeats_plot(name):
                yield self._say(name)
        if zero:
            yield f"0: {', '.join(zero)}"

    def _repeats_plot(self, name: str) -> bool:
        """Return whether a quantity is the summary of a single plot."""
        variable = self._by_name[name]
        one_plot = self.session.env.fields[variable.field].shape == (1, 1)
        return one_plot and variable.key.startswith(SUMMARY_KEY)

    def _say(self, name: str) -> str:
        quantity = self._read(self._by_name[name])
        values = quantity.values
        text = say_plots_of(quantity) if self._by_name[name].per_plot else _say_row(np.ravel(values), quantity)
        return f"{name} {text}{_say_age(quantity)}"

    def _say_all(self, name: str) -> str:
        quantity = self._read(self._by_name[name])
        values = [_say_exactly(value, quantity) for value in np.ravel(quantity.values)]
        unit = unit_words(quantity.unit, values[-1]) if not quantity.labels else ""
        return f"{name} {' '.join(values)} {unit}".strip() + _say_age(quantity)


def _is_zero(quantity: Quantity) -> bool:
    """Return whether a quantity is observed today and 0, or no, everywhere."""
    return quantity.labels in ((), ("no", "yes")) and quantity.age == 0 and not np.any(quantity.values)


def _say_age(quantity: Quantity) -> str:
    return f" ({quantity.age} days ago)" if quantity.age else ""


def _say_value(value: float, quantity: Quantity) -> str:
    """Return a value: its label, or two digits, but never less than whole numbers."""
    if not np.isfinite(value):
        return "?"
    if quantity.labels:
        return quantity.labels[int(value)]
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def _say_exactly(value: float, quantity: Quantity) -> str:
    return f"{value:.6g}" if np.isfinite(value) and not quantity.labels else _say_value(value, quantity)


def _say_row(values: np.ndarray, quantity: Quantity) -> str:
    """Return the numbers of a quantity with their unit."""
    texts = [_say_value(value, quantity) for value in values]
    unit = unit_words(quantity.unit, texts[-1])
    return " ".join(texts) + (f" {unit}" if unit and not quantity.labels else "")


def say_plots_of(quantity: Quantity) -> str:
    """Return the values of plots: one if all are equal, else the common one with exceptions, or the range."""
    values = quantity.values
    texts = np.asarray([_say_value(v, quantity) for v in np.ravel(values)], object).reshape(values.shape)
    unit = f" {unit_words(quantity.unit, '2')}" if quantity.unit and not quantity.labels else ""
    counts = Counter(texts.ravel().tolist())
    common, number = counts.most_common(1)[0]
    if len(counts) == 1:
        return common + unit
    others = {text: np.argwhere(texts == text).tolist() for text in counts if text != common}
    if quantity.labels or 2 * number >= texts.size and texts.size - number <= MOST_EXCEPTIONS:
        parts = (f"{text} {_say_where(plots)}" for text, plots in others.items())
        return f"{common}{unit}, {', '.join(parts)}"
    least = min(np.argwhere(values == np.nanmin(values)).tolist())
    most = min(np.argwhere(values == np.nanmax(values)).tolist())
    ends = (f"{_say_value(values[tuple(at)], quantity)} at {_say_plot(at)}" for at in (least, most))
    return " to ".join(ends) + unit


def _say_plot(at: list[int]) -> str:
    return ",".join(map(str, at[-2:]))


def _say_where(plots: list[list[int]]) -> str:
    return f"at {' '.join(map(_say_plot, plots))}" if len(plots) <= MOST_EXCEPTIONS else f"on {len(plots)} plots"
