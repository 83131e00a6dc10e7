"""Drawing of the weather: a symbol for the sky, symbols for wind and frost, and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.drawing import DrawContext

from .site import WIND_DIRECTIONS

WINDY = 30.0
"""Lowest mean wind speed, in km/h, for which a symbol is drawn: at this speed, branches move."""

DRY = "dry"
"""Sky drawn for a day without rain if its sunshine is unknown."""

WORDS = {
    "sunny": "sunny", "fair": "sun and clouds", "overcast": "overcast", "light_rain": "light rain",
    "heavy_rain": "heavy rain", "snow": "snow", DRY: "dry day",
}  # fmt: skip


def name_sky(seen: DrawContext) -> str:
    """Return the key in `WORDS` for the day's sky; empty if nothing is known."""
    rain, sun, warm = (seen.number(k) for k in ("rain_amount", "sun_exposure#int5", "air_temperature/mean#°C"))
    if np.isnan(rain):
        amount = seen.number("rain/amount#mm")
        rain = float(amount > 0) if np.isfinite(amount) else rain
    if rain > 0:
        return "snow" if warm < 0.5 else ("light_rain", "heavy_rain")[int(rain) - 1]
    if np.isnan(sun):
        return DRY if rain == 0 else ""
    return ("overcast", "overcast", "fair", "fair", "sunny", "sunny")[int(sun)]


def draw_sky(weather: Any, seen: DrawContext) -> list[Mark]:
    """Draw the sky, and wind and frost if any, in the north-western corner."""
    room, what, sprites = seen.margin, name_sky(seen), weather.sprites()
    signs = [("fair" if what == DRY else what, WORDS[what])] if what else []
    signs += [("wind", "strong wind")] if seen.number("wind/speed#km.h-1") >= WINDY else []
    signs += [("frost", "frost")] if seen.number("air_temperature/min#°C") < 0 else []
    places = [(-0.5 * room, (0.95 * i - 0.5) * room) for i in range(len(signs))]
    return [Mark(sprites[sign], at, 0.9 * room, meaning=says) for at, (sign, says) in zip(places, signs, strict=True)]


def describe(seen: DrawContext) -> list[str]:
    """Return the known temperatures, rain, wind and humidity."""
    low, mean, high = (seen.number(f"air_temperature/{which}#°C") for which in ("min", "mean", "max"))
    rain, wind, damp = (seen.number(key) for key in ("rain/amount#mm", "wind/speed#km.h-1", "humidity_index#%"))
    blows = seen.number("wind/direction")
    source = f" from {WIND_DIRECTIONS[int(blows)]}" if np.isfinite(blows) else ""
    sky = WORDS.get(name_sky(seen), "")
    air = [f"{round(low)} to {round(high)} °C (mean {round(mean)})"] if np.isfinite(low + mean + high) else []
    air += [f"mean {round(mean)} °C"] if not air and np.isfinite(mean) else []
    fell = [f"rain {rain:.1f} mm" if rain > 0 else "no rain"] if np.isfinite(rain) else []
    more = [f"wind {wind:.0f} km/h{source}"] if np.isfinite(wind) else []
    more += [f"humidity {damp:.0f} %"] if np.isfinite(damp) else []
    return [", ".join(part) for part in ([sky] * bool(sky) + air, fell + more) if part]
