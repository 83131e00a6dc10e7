"""Reports on weather files, their pictures and tables, and public records, from the command line."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.farm.weather_data import records
from harvestgym.farm.weather_data.table import read_record, read_table

from . import weather_files as files

DAYS = files.make_days()


def run_command(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["weather", *args])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def gappy(tmp_path: Path) -> Path:
    path = tmp_path / "days.csv"
    path.write_text(files.write_open_meteo([day for i, day in enumerate(DAYS) if not 40 <= i < 45]))
    return path


def test_a_report_names_units_gaps_and_ranges(gappy: Path) -> None:
    said = run_command("show", str(gappy))
    assert "days.csv: Open-Meteo, 2019-01-01 to 2020-12-31, 730 days" in said
    rain = np.nanmean(read_record(gappy).days.rain) * 365
    assert f"{rain:.0f} mm of rain a year" in said
    assert "Tmax │ degC │ 5 │ 8.0 │ 18.0 │ 28.0" in said
    assert "U mph at 10 m from wind_speed_10m_mean (mp/h)" in said and "not used: weather_code (wmo code)" in said
    assert "gap: no Tmin, Tmax, T, RH, U, Rain on 5 of 730 days (2019-02-10 to 2019-02-14)" in said
    assert "altitude of the station: 123.45 m" in said
    assert said.endswith("a farm rejects this file, because values are missing; try fill: 10 in a farm file, which "
                         "estimates up to 10 days a year, and RH and U")  # fmt: skip


def test_rain_in_inches_and_radiation_have_a_line(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("Date,Tmin,Tmax,RH,U,Rain,Srad\n2013-01-01,1,9,80,2,0.1,5\n2013-01-02,1,9,80,2,0.1,5\n")
    said = run_command("show", str(path), "--column", "Srad=ignore")
    assert "not used: Srad; radiation is never read" in said and "rejects" not in said
    assert "warning: less than 50 mm of rain a year; if it is in inches or cm, name the unit: Rain (inch)" in said


def test_a_file_without_any_value_of_a_column_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "days.WTH"
    path.write_text("".join(line[:24] + " -99.0" + line[30:] if line[:2] in ("19", "20") else line
                            for line in files.write_dssat(DAYS).splitlines(keepends=True)))  # fmt: skip
    said = run_command("show", str(path))
    assert "gap: no Rain on 730 of 730 days" in said and "of rain a year" not in said
    said = run_command("show", str(path), "--fill", "100", code=2)
    assert "got none; try a larger fill, another station, or docs/weather.md" in said


def test_a_picture_is_drawn_and_gaps_are_filled(gappy: Path, tmp_path: Path) -> None:
    picture = tmp_path / "days.png"
    said = run_command("show", str(gappy), "--fill", "5", "--picture", str(picture))
    assert "│ 0 │" in said and "gap: " in said and "filled: the table above" in said and "rejects" not in said
    with Image.open(picture) as drawn:
        assert drawn.size == (1100, 1254)
    for name, words in (("days.jpg", "a file name ending in .png"), ("none/days.png", "an existing folder")):
        refused = run_command("show", str(gappy), "--picture", str(tmp_path / name), code=2)
        assert f"expected {words}" in refused and "│" not in refused, "found before the file is read"


def test_mistakes_are_one_line(gappy: Path, tmp_path: Path) -> None:
    assert "expected a file, got none" in run_command("show", str(tmp_path / "none.csv"), code=2)
    assert "--column: expected NAME=MEANING" in run_command("show", str(gappy), "--column", "U", code=2)
    wind = run_command("show", str(gappy), "--column", "wind_speed_10m_mean (mp/h)=U km/h at 10 m")
    assert "U km/h at 10 m from" in wind
    assert "try 'occurrence'" in run_command("show", str(gappy), "--rain", "occurence", code=2)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # noqa: N802
        self.send_response(200 if self.path.startswith("/right") else 404)
        self.end_headers()
        if self.path.startswith("/right"):
            self.wfile.write(b"days of weather\n")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    pytest.importorskip("pooch")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_address[1]}/"
        found.shutdown()


def test_records_are_downloaded_with_a_checksum(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "mine": records.PublicRecord("mine.wth", hashlib.sha256(b"days of weather\n").hexdigest(), "a", "CC0", "b")
    }
    monkeypatch.setattr(records, "list_records", lambda: known)
    path = records.download_record("mine", tmp_path, server + "right/")
    assert path == tmp_path / "mine.wth" and path.read_bytes() == b"days of weather\n"
    with pytest.raises(ConfigError, match="expected a new file, got an existing one"):
        records.download_record("mine", tmp_path, server + "right/")
    path.unlink()
    with pytest.raises(ConfigError, match="mine: expected the record at .*/wrong/mine.wth, got 404"):
        records.download_record("mine", tmp_path, server + "wrong/")
    known["mine"] = known["mine"]._replace(sha256="0" * 64)
    with pytest.raises(ConfigError, match="SHA256 hash"):
        records.download_record("mine", tmp_path, server + "right/")
    with pytest.raises(ConfigError, match="try 'mine'"):
        records.download_record("mines", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_get_lists_the_records_and_says_the_licence(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "maricopa-2003-2020 Maricopa, Arizona" in run_command("get")
    text = files.write_pyfao56(DAYS).encode()

    def retrieve(url: str, known: str, name: str, folder: Path) -> Path:
        (folder / name).write_bytes(text)
        return folder / name

    monkeypatch.setattr("pooch.retrieve", retrieve)
    said = run_command("get", "maricopa-2003-2020", "--folder", str(tmp_path))
    assert "licence: CC0 1.0" in said and "[Weather, {extends: base, table: maricopa-2003-2020.wth}]" in said
    assert read_table(tmp_path / "maricopa-2003-2020.wth").format == "pyfao56"
    assert "use it as" not in run_command("get", "lirf-2022", "--folder", str(tmp_path)), "shorter than a year"
