"""Every error of a user has one form: the place, what was expected, what was found, and what to try."""

from __future__ import annotations

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError, check_each_name, mismatch, require


def test_an_error_has_one_form_and_leaves_out_what_is_empty():
    assert str(mismatch("x > y", "a number", "none", "1.0")) == "x > y: expected a number, got none; try 1.0"
    assert str(mismatch("", "a number", 3)) == "expected a number, got 3"


def test_a_requirement_raises_this_error_only_if_it_does_not_hold():
    require([1], "list", "an entry", "none")
    with pytest.raises(ConfigError, match="^list: expected an entry, got none$"):
        require([], "list", "an entry", "none")


def test_the_first_wrong_name_of_a_list_is_named():
    check_each_name("crop", ["bean", "corn"], {"bean", "corn"})
    with pytest.raises(ConfigError, match="got 'korn'; try 'corn'"):
        check_each_name("crop", ["bean", "korn"], {"bean", "corn"})


@pytest.mark.parametrize(
    ("id", "keyword", "hint"),
    [
        ("fishing/logistic-v0", "years", "'Tmax'"),
        ("farm/bean-1x1-v0", "days", "rules={'horizon#day': ...}"),
        ("farm/bean-1x1-v0", "years", "rules={'horizon#day': ...}"),
        ("forager/flowers-v0", "Steps", "'horizon'"),
    ],
)
def test_a_name_for_the_length_of_an_episode_leads_to_the_valid_one(id: str, keyword: str, hint: str):
    with pytest.raises(ConfigError) as error:
        harvestgym.make(id, **{keyword: 50})
    assert str(error.value) == f"make() got an unexpected keyword argument {keyword!r}; try {hint}"
