"""The strip above a field: the date, the weather of the day, and the probability of rain on the next days."""

from __future__ import annotations

from harvestgym.farm.view.words import calendar_date, key_unit, unit_words
from harvestgym.play.farm_session import FarmSession

from .elements import box, number, words

VARIABLES = {
    "air_temperature/min#°C": "lowest",
    "air_temperature/mean#°C": "mean",
    "air_temperature/max#°C": "highest",
    "rain/amount#mm": "rain",
    "humidity_index#%": "humidity",
    "wind/speed#km.h-1": "wind",
    "consecutive_dry#day": "without rain",
}
"""The variables of the strip in order, and their names there."""


def weather_strip(session: FarmSession, field: int) -> None:
    """Add the known weather of the day on a field."""
    fields = session.env.fields
    of = f", {fields[field].name}" if len(fields) > 1 else ""
    with box("section", "card sky", "sky"):
        number(_date_text(session, field), f"day {session.day} of {session.days}{of}", "date", "day")
        for key, name in VARIABLES.items():
            value = session.value(field, key)
            if value is not None:
                text = f"{float(value):.3g}"
                number(f"{text} {unit_words(key_unit(key), text)}", name)
        _forecast(session, field)


def _date_text(session: FarmSession, field: int) -> str:
    number = session.value(field, "day#int365")
    if number is None:
        return f"Day {session.day}"
    date = calendar_date(float(number))
    return f"{date.day} {date:%B}"


def _forecast(session: FarmSession, field: int) -> None:
    """Add a bar for each of the next days, as high as the probability of rain."""
    chances = session.value(field, "forecast/rain")
    if chances is None:
        return
    with box("div", "forecast", "forecast", title="Chance of rain on the next days"):
        words("span", "chance of rain", "name")
        for i, chance in enumerate(chances.tolist()):
            with box("div", "ahead"):
                words("b", f"{100 * chance:.0f} %")
                with box("div", "tube"):
                    box("div", "water", style=f"height: {100 * chance:.0f}%")
                words("span", "tomorrow" if i == 0 else f"+{i + 1} days")
