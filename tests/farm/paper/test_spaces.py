"""Union and MultiUnion behave as any Gymnasium space: sample, contains, seed, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

from harvestgym.farm.paper.spaces import MultiUnion, Union


def parts() -> list[Discrete | Dict | Box]:
    watering = Dict({"amount#L": Discrete(5), "duration#min": Discrete(2), "plot": Discrete(3)})
    return [Discrete(1), Discrete(1), watering, Box(0.0, 5.0, (2,), np.float32)]


@pytest.mark.parametrize("space", [Union(parts()), MultiUnion(parts(), 1), MultiUnion(parts(), 3)], ids=str)
def test_samples_are_members_and_go_through_json(space: Union | MultiUnion) -> None:
    space.seed(0)
    for _ in range(200):
        x = space.sample()
        assert space.contains(x)
        back = space.from_jsonable(json.loads(json.dumps(space.to_jsonable([x]))))[0]
        assert space.contains(back)
        assert space.to_jsonable([back]) == space.to_jsonable([x])


@pytest.mark.parametrize("space", [Union(parts()), MultiUnion(parts(), 3)], ids=str)
def test_a_seed_gives_the_same_samples_twice(space: Union | MultiUnion) -> None:
    def draws(seed: int) -> list[str]:
        space.seed(seed)
        return [repr(space.sample()) for _ in range(20)]

    assert draws(3) == draws(3) != draws(4)


def test_a_multi_union_holds_the_sets_up_to_m_and_nothing_else() -> None:
    space = MultiUnion(parts(), 2)
    one = (0, np.int64(0))
    assert () in space and (one,) in space and [one, (1, 0)] in space
    for wrong in ((one, one, one), ((4, 0),), ((0, 1),), one, None, ((0,),), ((2, {"amount#L": 0}),)):
        assert wrong not in space, wrong


def test_samples_have_every_size_and_no_member_twice() -> None:
    space = MultiUnion([Discrete(1), Discrete(1), Discrete(1)], 3, seed=1)
    sets = [space.sample() for _ in range(300)]
    assert {len(s) for s in sets} == {0, 1, 2, 3}
    assert all(len({int(i) for i, _ in s}) == len(s) for s in sets)


def test_equal_spaces_are_equal_and_print_as_in_the_paper() -> None:
    assert MultiUnion(parts(), 2) == MultiUnion(parts(), 2) != MultiUnion(parts(), 3)
    assert str(MultiUnion([Discrete(1), Discrete(3)], 2)) == "MultiUnion[2](Discrete(1), Discrete(3))"


def test_a_set_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        MultiUnion(parts(), 0)
