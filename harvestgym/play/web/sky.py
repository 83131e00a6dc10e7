"""The strip above a field: the date, the weather of the day, and how likely rain is on the days ahead."""

from __future__ import annotations

from datetime import date, timedelta

from harvestgym.play.farmer import FarmerSession, unit

from .parts import box, number, words

STRIP = {
    "air_temperature/min#°C": "lowest", "air_temperature/mean#°C": "mean", "air_temperature/max#°C": "highest",
    "rain/amount#mm": "rain", "humidity_index#%": "humidity", "wind/speed#km.h-1": "wind",
    "consecutive_dry#day": "dry for",
}  # fmt: skip
"""What of the weather the strip shows, in order, and what it calls it."""


def strip(session: FarmerSession, field: int) -> None:
    """What is known of the day on a field."""
    fields = session.model.fields
    of = f", {fields[field].name}" if len(fields) > 1 else ""
    with box("section", "card sky", "sky"):
        number(_date(session, field), f"day {session.day} of {session.days}{of}", "date", "day")
        for key, name in STRIP.items():
            value = session.value(field, key)
            if value is not None:
                number(f"{float(value):.3g}{unit(key).replace('km.h-1', 'km/h')}", name)
        _forecast(session, field)


def _date(session: FarmerSession, field: int) -> str:
    number = session.value(field, "day#int365")
    if number is None:
        return f"Day {session.day}"
    at = date(2023, 1, 1) + timedelta(days=int(number) - 1)
    return f"{at.day} {at:%B}"


def _forecast(session: FarmerSession, field: int) -> None:
    """A column for each day ahead, as high as rain is likely."""
    chances = session.value(field, "forecast/rain")
    if chances is None:
        return
    with box("div", "forecast", "forecast", title="Chance of rain on the days ahead"):
        words("span", "chance of rain", "name")
        for i, chance in enumerate(chances.tolist()):
            with box("div", "ahead"):
                words("b", f"{100 * chance:.0f} %")
                with box("div", "tube"):
                    box("div", "water", style=f"height: {100 * chance:.0f}%")
                words("span", "tomorrow" if i == 0 else f"+{i + 1} days")
