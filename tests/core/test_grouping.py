"""Groups keep the order in which their keys and their members appear."""

from __future__ import annotations

from harvestgym.core.grouping import group_pairs


def test_groups_keep_the_order_of_the_keys_and_of_their_members():
    assert list(group_pairs([("b", 1), ("a", 2), ("b", 3)]).items()) == [("b", [1, 3]), ("a", [2])]
    assert group_pairs([]) == {}
