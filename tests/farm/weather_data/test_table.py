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
    table = read_table(write(*(f"{d},0,{d.month},0,50,{d.day},2" for d in dates)))
    assert len(table) == 4 * 365
    by_year = np.stack((table.days.t_max, table.days.wind)).reshape(2, 4, 365)
    assert (by_year == by_year[:, :1]).all()


def test_a_calendar_that_leaves_out_29_february_is_no_gap(write):
    assert len(read_table(write(ROWS[0], ROWS[1], ROWS[3]))) == 3


def test_without_dates_the_first_row_is_1_january(write):
    table = read_table(write("1,9,5,80,2.5,0.3", "2,8,5,81,2,3.4", header="Tmin,Tmax,T,RH,U,Rain"))
    assert (table.start_day, table.start_year) == (1, None)


def test_other_columns_are_ignored_and_the_order_does_not_matter(write):
    table = read_table(write("10,2.5,80,5,9,1,0.3", header="Clouds,U,RH,T,Tmax,Tmin,Rain"))
    assert float(table.days.t_max[0]) == 9 and float(table.days.wind[0]) == 2.5


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
    (HEADER.replace("Rain", "Snow"), ROWS, "expected a column 'Rain' (mm/day, or 0/1), got Date"),
    (HEADER.replace(",", ";"), ROWS, "expected commas between the cells, got ';'; try saving"),
    (HEADER.replace("Tmax", "TMax"), ROWS, "U, Rain; try renaming 'TMax'"),
    (HEADER.replace("RH", "Tmin"), ROWS, "expected column 'Tmin' once, got it twice"),
    (HEADER, (), "expected at least one row"),
    (HEADER, (ROWS[2],), "at least one day other than 29 February"),
    (HEADER, (ROWS[0], ROWS[2]), "'Date': expected 2012-02-28 after 2012-02-27, got 2012-02-29"),
    (HEADER, (ROWS[0], ROWS[0]), "after 2012-02-27, got 2012-02-27"),
    (HEADER, ("27/02/2012,1,9,5,80,2,0",), "expected YYYY-MM-DD, got '27/02/2012'"),
    (HEADER, ("2013-01-01,1,9,5,80,2",), "row 1: expected 7 cells, as in the header, got 6"),
    (HEADER, ("2013-01-01,1,9,5,,2,0",), "row 1 (2013-01-01), column 'RH': expected a number"),
    (HEADER, ("2013-01-01,1,9,5,nan,2,0",), "column 'RH': expected a number (%), got nothing"),
    (HEADER, ("2013-01-01,1,9,warm,80,2,0",), "column 'T': expected a number (degC), got 'warm'"),
    (HEADER, ("2013-01-01,9,1,5,80,2,0",), "column 'Tmin': expected at most Tmax (1), got 9; try"),
    (HEADER, ("2013-01-01,1,9,12,80,2,0",), "'T': expected between Tmin (1) and Tmax (9), got 12"),
    (HEADER, ("2013-01-01,1,9,5,180,2,0",), "column 'RH': expected % between 0 and 100, got 180"),
    (HEADER, ("2013-01-01,1,9,5,80,-2,0",), "column 'U': expected m/s, daily mean at 2 m between 0"),
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
    with pytest.raises(ConfigError, match="expected a header and a row per day"):
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
