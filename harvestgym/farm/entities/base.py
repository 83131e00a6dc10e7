"""Base class for farm entities: parameters as fields, a state, messages, actions, and one update per day.

The instance *is* its parameter set. An entity receives everything that it needs from others as messages on the `Board`
and writes only its own state, so adding a kind requires no change to existing kinds. The modules of all
kinds are laid out in the same order: parameter groups, `State`, class.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.config import build_params, choose_set, read_written_sets
from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import Meta, Pytree, iterate_metas, par, static
from harvestgym.core.view.scene import Mark, Sprite, load_sprites

from .drawing import DrawContext
from .messages import Ground, Message, zero_values

MessageT = TypeVar("MessageT", bound=Message)
E = TypeVar("E", bound="Entity")
Draws = dict[str, Array]
"""The random numbers of one day, by use."""

Posts = dict[type[Message], dict[str, Message]]
"""The messages of one day, by kind and publisher."""


class Place(Pytree):
    """Location of an entity: a field of `shape` plots, with the names of the hosts and cide targets on it.

    A plot is (x, y), arrays have shape `(length, width)`, and north is y - 1.
    """

    shape: tuple[int, int] = static("shape", "plots (length, width)")
    hosts: tuple[str, ...] = static("hosts", "names of the plants and weeds on the field, the host axis", default=())
    targets: tuple[str, ...] = static("targets", "names of the targets on which cides can act", default=("soil",))
    latitude: Array = par("latitude#°", "north positive", low=-90, high=90)
    longitude: Array = par("longitude#°", "east positive", low=-180, high=180)
    altitude: Array = par("altitude#m", "above the sea", low=-430, high=8850)
    scale: Array = par("scale#m", "side of a plot", low=0.01, high=100)

    @property
    def surface(self) -> Array:
        """Area of one plot, in m2."""
        return self.scale * self.scale

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """Sizes of the named axes."""
        return {"plot": self.shape, "host": (len(self.hosts),), "target": (len(self.targets),)}

    @property
    def distance_to_edge(self) -> np.ndarray:
        """Number of plots between each plot and the wild edge (0 on the border), shape (length, width)."""
        x, y = np.indices(self.shape)
        ahead = np.minimum(x, self.shape[0] - 1 - x)
        return np.minimum(ahead, np.minimum(y, self.shape[1] - 1 - y)).astype(np.float32)


class Ledger(NamedTuple):
    """One entity's flows across the farm boundary on one day.

    Attributes:
        flows: maps a substance and flow (`"water:rain"`, `"nutrients:leaching"`) to the amount per plot, in L or g,
            positive inwards; the flows of a substance sum to the change in the amount that the entities hold.
        tally: quantities that count towards scores (`"harvest#kg"`, `"water#L"`, `"stages#nb"`), as scalars.
    """

    flows: dict[str, Array]
    tally: dict[str, Array]


class ActionResult(NamedTuple):
    """Result of an action: the new state, where the action had an effect, and the flows across the boundary."""

    state: Any
    done: Array
    ledger: Ledger


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action: `choices` (numbers or words), or a continuous `range`.

    If there is a `range`, a farm file may replace numeric choices with other numbers in it.
    """

    key: str
    choices: tuple[float | str, ...] = ()
    range: tuple[float, float] = (0.0, 0.0)

    @property
    def continuous(self) -> bool:
        """Return whether the parameter takes any number in a range."""
        return not self.choices

    @property
    def widest(self) -> Parameter:
        """The parameter without the restriction to `choices`: every value that a farm file may list."""
        return self if self.range[0] == self.range[1] else dataclasses.replace(self, choices=())


@dataclass(frozen=True)
class Action:
    """An intervention that a kind offers; `plot` states whether it targets one plot rather than the whole field."""

    name: str
    method: str
    plot: bool
    parameters: tuple[Parameter, ...]
    doc: str
    reads_board: bool = False


def action(name: str, *parameters: Parameter, plot: bool = True) -> Callable[[Any], Any]:
    """Declare a method `(self, state, place, where, *values) -> ActionResult` as the intervention `name`.

    `where` is a bool array over the plots; if it is False everywhere, the method changes nothing. A method whose last
    parameter is `board` also receives this morning's messages, published before any of the day's orders.
    """

    def declare(method: Any) -> Any:
        doc = (inspect.getdoc(method) or "").partition("\n")[0]
        reads_board = "board" in inspect.signature(method).parameters
        method.action = Action(name, method.__name__, plot, parameters, doc, reads_board)
        return method

    return declare


def publishes(message: type[Message]) -> Callable[[Any], Any]:
    """Declare a method `(self, state, place, board, draws) -> message` that publishes a daily message."""

    def declare(method: Any) -> Any:
        method.publishes = message
        return method

    return declare


class Entity(Checked, Pytree):
    """Base class of all kinds. Subclasses are pytrees of parameters, without a decorator.

    Class attributes:
        State: the pytree of `var()` fields.
        host: whether pests can live on it (if so, it has an index on the host axis).
        priority: order of allocation, highest first; entities of equal priority share in proportion to their needs.
        targets: names by which the effects of cides refer to it; any name may be declared.
        explains: state fields that explain deaths, slow growth and the yield; they appear in `info`.
        randomness: maps each use of random numbers to the axes of its uniform numbers; each day, all uses are slices of
        one draw.
        derived: the `Meta` of each variable that `views` computes.
        counted: maps words to the variables whose sum `describe` reports.
        shared: whether fields at the same location share its random draws if its parameters are equal.
    """

    State: ClassVar[type]
    host: ClassVar[bool] = False
    priority: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ()
    targets: ClassVar[tuple[str, ...]] = ()
    randomness: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    actions: ClassVar[tuple[Action, ...]] = ()
    published: ClassVar[tuple[tuple[type[Message], str], ...]] = ()
    derived: ClassVar[Mapping[str, Meta]] = {}
    counted: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    shared: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
        members: dict[str, Any] = {name: getattr(cls, name, None) for name in names}
        cls.actions = tuple(member.action for member in members.values() if hasattr(member, "action"))
        cls.published = tuple((members[n].publishes, n) for n in sorted(names) if hasattr(members[n], "publishes"))
        super().__init_subclass__()

    @classmethod
    def file(cls, which: str | Mapping[str, Any] = "") -> Path:
        """Return the path of the YAML file with the parameter sets, or with the set `which`, next to the module.

        A set may also be in a separate file in a folder next to it: `plant_sets/potato.yaml` next to `plant.yaml`.
        A subclass without such a file or set uses that of its nearest base class that has it: `(MyPlant, "bean")`.
        """
        bases = [base for base in cls.__mro__ if base is not Entity and issubclass(base, Entity)]
        paths = [path for path in map(_find_module, bases) if path is not None]
        files = [path for path in paths if path.is_file()]
        name = which if isinstance(which, str) else which.get("extends")
        ours = [path for path in files if name in read_written_sets(path)] if len(files) > 1 else []
        return (*ours, *files, *paths, Path(f"{cls.__name__}.yaml"))[0]

    @classmethod
    def named(cls: type[E], which: str | Mapping[str, Any]) -> E:
        """Return the parameter set `which`: a name, or a mapping with `extends:` that modifies a named set."""
        path = cls.file(which)
        name, data = choose_set(path, which, cls.__name__)
        where = f"{path.name} > {name}" if isinstance(which, str) else f"{cls.__name__} (extends {name})"
        return build_params(cls, data, where)

    @classmethod
    def written(cls, which: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a set as written in the file, with sources, in the layout of the fields."""
        if (path := cls.file(which)).is_file():
            return choose_set(path, which, cls.__name__)[1]
        return {} if isinstance(which, str) else which

    @classmethod
    def sprites(cls) -> Mapping[str, Sprite]:
        """Return the sprites from `sprites.yaml` next to the module; an action uses the sprite with its own name."""
        path = cls.file().with_name("sprites.yaml")
        return load_sprites(path) if path.is_file() else {}

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Return the marks for the entity on its field's map; runs in NumPy, not compiled."""
        return []

    def describe(self, seen: DrawContext, place: Place) -> list[str]:
        """Return short lines of text about the entity, by default its `counted` sums; runs in NumPy, not compiled."""
        numbers = {words: np.nansum([seen.total(key) for key in keys]) for words, keys in self.counted.items()}
        return [f"{words}: {number:.0f}" for words, number in numbers.items() if number > 0]

    def init(self, key: Array, place: Place) -> Any:
        """Return the state before the first day; all zero by default."""
        return zero_values(self.State, self.sizes(place))

    def settle(self, key: Array, state: Any, place: Place) -> Any:
        """Make `state` consistent with the initial values written into it (a plant in bloom has flowers)."""
        return state

    def limits(self, place: Place) -> dict[str, float]:
        """Return the upper limits of initial values, by state field, where they depend on parameters."""
        return {}

    def check_start(self, given: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
        """Yield the field and the error message for each initial value that `settle` would drop.

        `given` maps each field with initial values to its possible values.
        """
        yield from ()

    def update(self, state: Any, place: Place, board: Board, draws: Draws) -> tuple[Any, Ledger]:
        """Return the next state of this entity, from its own state and the board."""
        raise NotImplementedError

    def holds(self, state: Any) -> dict[str, Array]:
        """Return the amount per plot of each balanced substance (`"water"` in L, `"nutrients"` in g) that it holds."""
        return {}

    def views(self, state: Any) -> dict[str, Array]:
        """Return variables computed from the state and described by `derived`; they can be observed like the others."""
        return {}

    def about(self, place: Place) -> str:
        """Describe this entity in one line."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def sizes(self, place: Place) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the axes named in its state; a kind with additional axes adds them."""
        return place.sizes

    def indices(self, state: Any) -> dict[str, Array]:
        """Return scalars in [0, 1] computed from the state and weighted in scores (`"soil"`, `"plant"`)."""
        return {}


def check_order(low_key: str, low: Any, high_key: str, high: Any) -> Iterator[str]:
    """Yield an error if the lower bound of an interval is above its upper bound."""
    if np.any(np.asarray(low) > np.asarray(high)):
        most, least = np.min(high), np.max(low)
        yield f"{low_key}: expected at most {high_key} ({most:g}), got {least:g}"


def _find_module(cls: type) -> Path | None:
    """Return the path of the parameter file next to the module that defines a class; None in a notebook."""
    try:
        return Path(inspect.getfile(cls)).with_suffix(".yaml")
    except (OSError, TypeError):
        return None


class Board:
    """The messages in one field on one day, as read by one entity.

    A publisher of rank n may read only messages of ranks below n, and the message that it published itself. `read`
    collects the kinds of messages that are read, except the reader's own.
    """

    def __init__(self, place: Place, posts: Posts, reader: str, rank: float, read: set[Any] | None = None):
        self.place = place
        self._posts = posts
        self._reader = reader
        self._rank = rank
        self._kinds_read = set() if read is None else read

    def read_one(self, kind: type[MessageT]) -> MessageT:
        """Return the single message of this kind on the field; ConfigError unless exactly one entity published it."""
        found = self._read(kind)
        if len(found) != 1:
            who = f" ({', '.join(found)})" if found else ""
            raise mismatch(self._reader, f"one {kind.__name__} on its field", f"{len(found)}{who}")
        return next(iter(found.values()))  # pyright: ignore[reportReturnType]

    def read_sum(self, kind: type[MessageT]) -> MessageT:
        """Return the sum of all messages of this kind; zero if nothing publishes it."""
        found = [message.whole(self.place.sizes) for message in self._read(kind).values()]
        return reduce(operator.add, found) if found else zero_values(kind, self.place.sizes)  # pyright: ignore

    def read_own(self, kind: type[MessageT]) -> MessageT:
        """Return the part of a message that concerns the reader itself.

        For a host and a message with a host axis (`Load`, `Strain`, `Share`), this is the host's entry, summed over all
        publishers. Otherwise it is the message that the reader published today.
        """
        metas = dict(iterate_metas(kind))
        if self._reader not in self.place.hosts or not all("host" in meta.axes for meta in metas.values()):
            return self._posts[kind][self._reader]  # pyright: ignore[reportReturnType]
        total, at = self.read_sum(kind), self.place.hosts.index(self._reader)
        axis = {name: int(meta.stacked) for name, meta in metas.items()}
        taken = {n: jax.lax.index_in_dim(getattr(total, n), at, a, keepdims=False) for n, a in axis.items()}
        return type(total)(**taken)

    def read_hosts(self, kind: type[MessageT]) -> MessageT:
        """Stack the messages of all hosts along a leading host axis, in the order of `place.hosts`.

        The entries of hosts that publish none are zero.
        """
        found, sizes = self._read(kind), self.place.sizes
        if not self.place.hosts:
            return jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape), leaf.dtype), zero_values(kind, sizes))
        each = [found[host].whole(sizes) if host in found else zero_values(kind, sizes) for host in self.place.hosts]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)  # pyright: ignore

    def read_others(self, kind: type[MessageT]) -> list[MessageT]:
        """Return the messages of the other hosts that publish one, in the order of `place.hosts`."""
        found = self._read(kind)
        return [found[host] for host in self.place.hosts if host in found and host != self._reader]  # pyright: ignore

    def toxin(self, target: str) -> Array:
        """Return the cide that acts on `target`, in g per plot; `target` is a name in the reader's `targets`."""
        return self.read_one(Ground).toxin[self.place.targets.index(target)]

    def _read(self, kind: type[MessageT]) -> dict[str, Message]:
        if kind.rank >= self._rank:
            got = f"{kind.__name__} of rank {kind.rank}"
            raise mismatch(self._reader, f"a message of a rank below {self._rank:g}", got)
        self._kinds_read.add(kind)
        return self._posts.get(kind, {})
