"""Reading weather tables: what is right comes through, what is wrong is named."""

import datetime

import numpy as np
import pandas as pd
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.weather_data.table import constant_table, read_table

HEADER = "Date,Tmin,Tmax,T,RH,U,Rain"
ROWS = (
    "2012-02-27,1,9,5,80,2.5,0.0",
    "2012-02-28,2,8,5,81,2,3.4",
    "2012-02-29,3,7,5,82,1,0",
    "2012-03-01,4,6,5,83,0,9",
)


@pytest.fixture
def write(tmp_path):
    def put(*rows, header=HEADER):
        path = tmp_path / "mine.csv"
        path.write_text("\n".join((header, *rows)) + "\n")
        return path

    return put


def test_values_and_calendar(write):
    table = read_table(write(*ROWS))
    assert len(table) == 3
    assert (table.name, table.start_day, table.start_year, table.rain_kind) == ("mine.csv", 58, 2012, "mm")
    np.testing.assert_array_equal(table.days.t_min, np.float32([1, 2, 4]))
    np.testing.assert_array_equal(table.days.rain, np.float32([0, 3.4, 9]))
    assert all(column.dtype == np.float32 and not column.flags.writeable for column in table.days)


def test_a_day_number_is_the_same_date_in_every_year(write):
    dates = [datetime.date(2012, 1, 1) + datetime.timedelta(days=i) for i in range(1461)]
    table = read_table(write(*(f"{d},0,{d.month},0,50,{d.day / 10},2" for d in dates)))
    assert len(table) == 4 * 365
    by_year = np.stack((table.days.t_max, table.days.wind)).reshape(2, 4, 365)
    assert (by_year == by_year[:, :1]).all()


def test_a_calendar_that_leaves_out_29_february_is_no_gap(write):
    assert len(read_table(write(ROWS[0], ROWS[1], ROWS[3]))) == 3


def test_without_dates_the_first_row_is_1_january(write):
    table = read_table(write("1,9,5,80,2.5,0.3", "2,8,5,81,2,3.4", header="Tmin,Tmax,T,RH,U,Rain"))
    assert (table.start_day, table.start_year) == (1, None)


def test_the_order_of_columns_does_not_matter_and_others_are_ignored_on_request_only(write):
    path = write("10,2.5,80,5,9,1,0.3", header="Clouds,U,RH,T,Tmax,Tmin,Rain")
    table = read_table(path, columns={"Clouds": "ignore"})
    assert float(table.days.t_max[0]) == 9 and float(table.days.wind[0]) == 2.5
    with pytest.raises(ConfigError, match="expected a known column, got 'Clouds'.*columns: {Clouds: ignore}"):
        read_table(path)


DATED = [
    ("Date", "2012-02-28"), ("date", "2012/02/28"), ("time", "2012-02-28T00:00"), ("DATE", "20120228"),
    ("timestamp", "2012-02-28 12:00:00"), ("day", "2012059"), ("Year-DOY", "2012-059"), ("YEAR,DOY", "2012,59"),
    ("YEAR,MO,DY", "2012,2,28"), ("Year,Month,Day", "2012,02,28"), ("date", "12059"), ("Date", "28.02.2012"),
    ("Date", "28.2.2012"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell"), DATED)
def test_any_column_for_the_date(write, column, cell):
    table = read_table(write(f"{cell},1,9,5,80,2,0.3", header=f"{column},Tmin,Tmax,T,RH,U,Rain"))
    assert (table.start_day, table.start_year) == (59, 2012) and str(table.find_date(1)) == "2012-03-01"


def test_a_column_of_dates_may_have_any_name_if_it_is_stated(write):
    path = write("2012-02-28,1,9,5,80,2,0.3", header="wann,Tmin,Tmax,T,RH,U,Rain")
    assert read_table(path, columns={"wann": "Date"}).start_year == 2012
    with pytest.raises(ConfigError, match="expected a known column, got 'wann'; try"):
        read_table(path)
    with pytest.raises(ConfigError, match="expected a known quantity, got 'when'; try one of Date, RH, .*ignore"):
        read_table(path, columns={"wann": "when"})


@pytest.mark.parametrize("point", [",", "."])
def test_semicolons_may_separate_cells_with_a_comma_or_a_point_in_numbers(write, point):
    """As spreadsheets with a European language write them, also with other names."""
    expected = read_table(write(*ROWS))
    rows = [row.replace(",", ";").replace(".", point) for row in ROWS]
    found = read_table(write(*rows, header=HEADER.replace(",", ";")))
    other = read_table(write(*rows, header="Tag;Tmin;Tmax;T;RH;Wind;Rain"), columns={"Tag": "Date", "Wind": "U m/s"})
    for table in (found, other):
        np.testing.assert_array_equal(np.stack(table.days), np.stack(expected.days))
        assert table.start_year == 2012


def test_a_column_that_counts_the_days_is_no_date(write):
    rows = [f"{i},1,9,5,80,2,0.3" for i in (1, 2, 3)]
    assert read_table(write(*rows, header="day,Tmin,Tmax,T,RH,U,Rain")).start_year is None
    with pytest.raises(ConfigError, match="row 2, column 'day': expected 2, got 3; try a column with dates"):
        read_table(write(rows[0], rows[2], header="day,Tmin,Tmax,T,RH,U,Rain"))


def test_units_in_names_are_converted(write):
    header = "time,Tmin (°F),Tmax [K],Tdew (C),U (km/h at 10 m),Rain (inch)"
    table = read_table(write("2012-02-28,50,293.15,10,36,0.1", header=header))
    found = [float(values[0]) for values in table.days]
    assert found == pytest.approx([10, 20, 15, 100 * 1.2280 / ((1.2280 + 2.3383) / 2), 7.48, 2.54], rel=1e-3)
    assert table.origins["U (km/h at 10 m)"] == "U km/h at 10 m"


def make_year(**changes):
    days = [datetime.date(2013, 1, 1) + datetime.timedelta(i) for i in range(365)]
    frame = pd.DataFrame({"time": days, "Tmin": 5.0, "Tmax": 20.0, "T": 12.0, "RH": 60.0, "U": 2.0, "Rain": 1.5})
    season = -np.cos(np.arange(365) / 58) * 8
    frame[["Tmin", "Tmax", "T"]] += season[:, None]
    frame["U"] += np.sin(np.arange(365))
    for column, change in changes.items():
        frame[column] = change(frame[column])
    return frame


UNITS = {
    "fraction": {"RH": lambda v: v / 100}, "km/h": {"U": lambda v: v * 3.6}, "K": {"Tmin": lambda v: v + 273.15},
    "degF": {"Tmax": lambda v: v * 1.8 + 32}, "0.1 degC": {"Tmax": lambda v: v * 10},
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_another_unit_is_refused_with_the_cause_and_the_conversion(unit):
    (column,), expected = UNITS[unit], read_table(make_year()).days
    frame = make_year(**UNITS[unit])
    with pytest.raises(ConfigError, match=f"probably in {unit}; try columns: ") as caught:
        read_table(frame)
    said = f"columns: {{{column}: {column} {unit}}} to convert it"
    assert said in str(caught.value)
    for got, right in zip(read_table(frame, columns={column: f"{column} {unit}"}).days, expected, strict=True):
        np.testing.assert_allclose(got, right, atol=1e-4)


def test_a_unit_that_the_user_states_is_believed():
    windy = make_year(U=lambda v: v + 6)
    with pytest.raises(ConfigError, match="probably in km/h.*or 'U m/s' if it is correct"):
        read_table(windy)
    assert float(read_table(windy, columns={"U": "U m/s"}).days.wind.mean()) == pytest.approx(8, abs=0.1)


def test_a_mean_rounded_past_an_end_is_put_on_it(write):
    table = read_table(write("2013-01-01,1.0,1.1,1.15,80,1,0"))
    assert table.days.t_mean == table.days.t_max


@pytest.mark.parametrize(
    ("rain", "asked", "kind"),
    [
        (("0", "1", "0"), "auto", "occurrence"),
        (("0", "1", "0"), "mm", "mm"),
        (("0", "0", "0"), "auto", "mm"),
        (("0", "1.5", "0"), "auto", "mm"),
        (("0", "0", "0"), "occurrence", "occurrence"),
    ],
)
def test_kind_of_rain(write, rain, asked, kind):
    path = write(*(f"1,9,5,80,2,{r}" for r in rain), header="Tmin,Tmax,T,RH,U,Rain")
    assert read_table(path, rain=asked).rain_kind == kind


def test_a_data_frame_is_read_like_the_file(write):
    path = write(*ROWS)
    expected = read_table(path)
    frame = pd.read_csv(path)
    stamped = frame.assign(Date=pd.to_datetime(frame["Date"]))
    for same in (frame, stamped, pd.read_csv(path, index_col=0, parse_dates=True)):
        table = read_table(same)
        assert (table.start_day, table.start_year) == (expected.start_day, expected.start_year)
        np.testing.assert_array_equal(np.stack(table.days), np.stack(expected.days))


WRONG = [
    (HEADER.replace("Rain", "Snow"), ROWS, "expected a known column, got 'Snow'; try one of Date"),
    (HEADER.replace(",Rain", ""), ("2013-01-01,1,9,5,80,2",), "expected a column 'Rain' (mm/day, or 0/1), got no"),
    (HEADER.replace("T,", "Rain (mm),"), ROWS, "expected a column 'Rain' (mm/day, or 0/1), got several among Date"),
    ("a,b,c", ROWS, "expected columns named Tmin, Tmax, T, RH, U, Rain"),
    ("YEAR,DOY,MO,Tmin,Tmax,Rain", ("2013,1,1,1,9,5",), "expected one column with dates, or YEAR and DOY"),
    (HEADER.replace(",", ";"), ROWS, "row 1: expected 7 cells, as in the header, got 1"),
    (HEADER.replace(",", "|"), ROWS, "expected commas between the cells, got '|'; try saving"),
    (HEADER.replace("Tmax", "TMax"), ROWS, "expected a known column, got 'TMax'; try 'Tmax'"),
    (HEADER.replace("RH", "Tmin"), ROWS, "expected column 'Tmin' once, got it twice"),
    (HEADER, (), "expected at least one row"),
    (HEADER, (ROWS[2],), "at least one day other than 29 February"),
    (HEADER, (ROWS[0], ROWS[3]), "got no Tmin, Tmax, T, RH, U, Rain on 1 of 3 days (2012-02-28); try fill: 10"),
    (HEADER, (ROWS[1], ROWS[0]), "'Date': expected a day after 2012-02-28, got 2012-02-27; try one row per day"),
    (HEADER, (ROWS[0], ROWS[0]), "after 2012-02-27, got 2012-02-27"),
    (HEADER, ("27/02/2012,1,9,5,80,2,0",), "expected a date, YYYY-MM-DD, DD.MM.YYYY or YYYY-DDD, got '27/02/2012'"),
    (HEADER, ("2013-01-01,1,9,5,80,2",), "row 1: expected 7 cells, as in the header, got 6"),
    (HEADER, ("2013-01-01,1,9,5,,2,0",), "expected values on every day, got no RH on 1 of 1 days (2013-01-01)"),
    (HEADER, ("2013-01-01,1,9,5,nan,2,0",), "no RH on 1 of 1 days"),
    (HEADER, ("2013-01-01,1,9,warm,80,2,0",), "column 'T': expected a number (degC), got 'warm'"),
    (HEADER, ("2013-01-01,9,1,5,80,2,0",), "column 'Tmin': expected at most Tmax (1), got 9; try"),
    (HEADER, ("2013-01-01,1,9,12,80,2,0",), "'T': expected between Tmin (1) and Tmax (9), got 12"),
    (HEADER, ("2013-01-01,1,9,5,180,2,0",), "column 'RH': expected RH from 0 to 100 %, got 180"),
    (HEADER, ("2013-01-01,1,9,5,80,-2,0",), "column 'U': expected U from 0 to 115 m/s, daily mean"),
    (HEADER, ("2013-01-01,1,9,5,80,2,-999",), "got -999; try replacing a code"),
    (HEADER, ("2013-01-01,1,9,5,80,inf,0",), "got inf"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "message"), WRONG)
def test_what_is_wrong_is_named(write, header, rows, message):
    with pytest.raises(ConfigError) as caught:
        read_table(write(*rows, header=header))
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith("mine.csv") and message in str(caught.value)


def test_an_empty_or_absent_file_is_named(tmp_path):
    (tmp_path / "mine.csv").write_text("")
    with pytest.raises(ConfigError, match="expected a header and one row per day"):
        read_table(tmp_path / "mine.csv")
    with pytest.raises(ConfigError, match="expected a file, got none"):
        read_table(tmp_path / "yours.csv")


def test_flags_that_are_none_are_refused(write):
    with pytest.raises(ConfigError, match=r"row 2 \(2012-02-28\), column 'Rain': expected 0 or 1"):
        read_table(write(*ROWS), rain="occurrence")
    with pytest.raises(ValueError, match="try 'occurrence'"):
        read_table(write(*ROWS), rain="occurence")


def test_a_frame_with_a_column_twice_is_refused(write):
    frame = pd.read_csv(write(*ROWS))
    with pytest.raises(ConfigError, match="data frame: expected column 'RH' once"):
        read_table(pd.concat((frame, frame[["RH"]]), axis=1))


def test_a_constant_year():
    table = constant_table("still", {"Tmin": 20, "Tmax": 26, "T": 23, "RH": 70, "U": 2, "Rain": 0})
    assert len(table) == 365
    assert all((column == column[0]).all() for column in table.days)
