"""The command line: list what there is, show what an id is made of, run a policy and see what happened."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from harvestgym import registry
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.core.loading import load_object
from harvestgym.evaluate import studies
from harvestgym.evaluate.export import Episode, Exporter, check_extras, check_folder

if TYPE_CHECKING:
    from harvestgym.evaluate.run import Evaluation


class Told(TyperGroup):
    """Commands whose mistakes of a person, and files that cannot be read or written, are told in a line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of a pipe has seen enough
            _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))


app = typer.Typer(
    cls=Told, add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_show_locals=False
)

new = typer.Typer(no_args_is_help=True, help="Begin a part of your own, from files that work as they stand.")
app.add_typer(new, name="new")

WIDE = 200
"""Columns of tables that go to a file or a pipe."""

FARM = "farm/bean-clay-1x1-v0"
"""With which a farm of one's own begins, if nothing else is said."""

Id = Annotated[str, typer.Argument(help="an id of `harvestgym list`, or the path of a farm file, my-farm.yaml")]


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="say which version this is, and end")] = False,
) -> None:
    """List what there is, show what an id is made of, run a policy and see what happened, play it yourself."""
    if version:
        from importlib.metadata import version as of

        typer.echo(f"harvestgym {of('harvestgym')}")
        raise typer.Exit


@app.command("list")
def list_ids(
    family: Annotated[str | None, typer.Argument(help="farm, fishing or forager")] = None,
    tag: Annotated[str | None, typer.Option(help="only those with this tag, such as watering or schedule")] = None,
) -> None:
    """The registered ids, with what is to be done there on a terminal, and alone in a file or a pipe."""
    if family is not None:
        check_name("family", family, registry.FAMILIES)
    found = registry.ids(family, tag)
    if sys.stdout.isatty():
        _print_ids(found)
    else:
        typer.echo("\n".join(found))


@app.command()
def show(id: Id) -> None:
    """What an id is made of: variables, actions, observation and parameters, with unit, range and source."""
    from rich.console import Console

    from harvestgym.evaluate.run import family_function

    env = registry.make(id)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(f"[bold]{id}[/bold]  {registry.doc(id, env)}")
    for table in family_function(id, "describe")(env):
        _draw(console, table)


@app.command()
def run(
    id: Id,
    policy: Annotated[str, typer.Option(help="expert, random, none, or another of the id's policies")] = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="how many seasons")] = 100,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="the same seed gives the same seasons")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print the numbers as JSON")] = False,
    out: Annotated[Path | None, typer.Option(help="a folder for the first season as Parquet and as a picture")] = None,
    html: Annotated[Path | None, typer.Option(help="a file for the first season as a page, for any browser")] = None,
    gif: Annotated[Path | None, typer.Option(help="a file for the first season as an animated GIF")] = None,
    mp4: Annotated[Path | None, typer.Option(help="a file for the first season as an MP4 film")] = None,
    width: Annotated[int, typer.Option(min=320, max=3840, help="of the pictures of a film, in pixels")] = 960,
    fps: Annotated[float, typer.Option(min=0.1, max=50, help="pictures of a second of a film")] = 10,
) -> None:
    """Run a policy for some episodes and print a table of what came of it."""
    keep = Exporter(out, html, gif, mp4, width, fps)
    keep.check()
    env = registry.make(id)
    with _bars(quiet=as_json) as bar:
        first = _recorded(id, env, policy, seed, bar) if keep else None
        result = first[1] if first and episodes == 1 else _evaluated(id, env, policy, episodes, seed, bar)
    if as_json:
        typer.echo(json.dumps(result.to_json()))
    else:
        _print(result)
    if first is not None:
        with _bars(quiet=False) as bar:
            written = [*keep.write(first[0], bar.begin)]
        for path in written:
            typer.echo(f"wrote {path}", err=as_json)


@app.command()
def record(
    id: Id,
    out: Annotated[Path, typer.Option(help="a new file *.parquet, or a new folder for a Minari dataset")],
    policy: Annotated[str, typer.Option(help="expert, random, none, or another of the id's policies")] = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="how many seasons")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the first; the next have the next ones")] = 0,
) -> None:
    """Keep episodes of a policy as demonstrations to learn from."""
    from harvestgym.evaluate.datasets import episodes as demonstrations

    check_extras(data="pyarrow", **({} if out.suffix == demonstrations.SUFFIX else {"offline": "minari"}))
    demonstrations.check_new(out)
    check_folder("--out", out.parent)
    with _bars(quiet=False) as bar:
        bar.begin(f"recording {policy} on {id} (compiling first)", None)
        kept = demonstrations.record(id, policy, episodes, seed)
    demonstrations.write(kept, out)
    typer.echo(f"wrote {out}: {len(kept.episodes)} episodes, {kept.steps} steps")


@app.command()
def play(
    id: Id,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free")] = 8080,
    host: Annotated[str, typer.Option(help="this machine alone by default; 0.0.0.0 lets others in")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="open a browser")] = True,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the episode that a tab begins with")] = 0,
    horizon: Annotated[int | None, typer.Option(min=1, help="days, years or steps, if not the id's own")] = None,
    out: Annotated[Path, typer.Option(help="the folder for episodes that you keep")] = Path(),
) -> None:
    """Be the farmer, the fisher or the forager yourself, on a page in the browser."""
    from harvestgym.play import run

    run(id, host, port, seed, horizon, out, show=browser, say=typer.echo)


STUDIES = ", ".join(studies.names())


@app.command()
def study(
    name: Annotated[str, typer.Argument(help=f"one of {STUDIES}")],
    replicates: Annotated[int | None, typer.Option(min=1, help="episodes or lives; by default the study's own")] = None,
    out: Annotated[Path | None, typer.Option(help="a folder for the table (Parquet) and a picture")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="threads of the processor; by default one a core")] = None,
) -> None:
    """Run a study and print its tables; its seasons run at once, as lanes of one program."""
    from rich.console import Console

    if out is not None:
        check_folder("--out", out)
        check_extras(data="pyarrow", plot="matplotlib")
    if jobs is not None:
        os.environ["NPROC"] = str(jobs)  # of which XLA makes its pool of threads when it starts
    run_study = studies.named(name)
    options = {} if replicates is None else {"replicates": replicates}
    with _bars(quiet=False) as bar:
        found = run_study(out=out, progress=bar.begin(f"study {name}", None), **options)
    for table in found if isinstance(found, list) else [found]:
        _draw(Console(), table)
    if out is not None:
        typer.echo(f"wrote {', '.join(sorted(str(p) for p in out.iterdir()))}")


@app.command()
def leaderboard(
    ids: Annotated[list[str] | None, typer.Option(help="ids, or farm, fishing, forager; all, if none is given")] = None,
    seasons: Annotated[int | None, typer.Option(min=2, help="by default 1000, or 100 where they are long")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="NAME=file.py:function of id and environment")] = None,
    planned: Annotated[int, typer.Option(min=0, help="seasons for which a ceiling is searched, 0 for none")] = 16,
    out: Annotated[Path | None, typer.Option(help="a folder for leaderboard.md, .json and .parquet, or docs")] = None,
) -> None:
    """What each policy makes of each id on held-out seasons; rows of other ids that OUT has are kept."""
    from rich.console import Console

    from harvestgym.evaluate.leaderboard import run as made
    from harvestgym.evaluate.leaderboard import store

    if out is not None:
        check_folder("--out", out)
    entrants = {name: load_object(target) for name, target in map(_entrant, policy or [])}
    wanted = made.chosen(ids or [])
    found = []
    with _bars(quiet=False) as bar:
        advance = bar.begin("leaderboard", len(wanted))
        for id in wanted:
            found += made.rows(id, seasons, entrants, planned)
            if out is not None:
                store.write(out, store.merged(store.read(out), found))
            advance(1)
    _draw(Console(), store.table(store.merged([], found)))


@app.command()
def check(id: Id) -> None:
    """Check an environment against the contract; says in words what is wrong."""
    from harvestgym.testing import check_env

    try:
        check_env(registry.make(id))
    except AssertionError as error:
        _fail(f"{id}: {error}")
    typer.echo(f"{id}: keeps the contract")


@app.command()
def schema() -> None:
    """The JSON Schema of a farm file, for editors that complete and check YAML."""
    from harvestgym.farm.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


@new.command("farm")
def new_farm(
    file: Annotated[Path, typer.Argument(help="the file to write, my-farm.yaml")],
    like: Annotated[str, typer.Option(help="the farm to begin with, an id of `harvestgym list farm`")] = FARM,
) -> None:
    """A farm file: one of the catalogue, whole, to be changed; nothing is overwritten."""
    from .new import farm

    typer.echo(f"wrote {farm(file, like)}; try `harvestgym run {file} --policy expert`")


@new.command("entity")
def new_entity(
    name: Annotated[str, typer.Argument(help="what it is called, GreenManure or green_manure")],
    folder: Annotated[Path, typer.Option(help="where the files go")] = Path(),
) -> None:
    """A kind of entity: a module, its parameter sets and its test, which passes; nothing is overwritten."""
    from .new import entity

    module, sets, test = entity(name, folder)
    typer.echo(f"wrote {module}, {sets} and {test}; try `pytest {test}`")


def _draw(console: Any, table: Any) -> None:
    """A table; names are kept in one piece where that leaves room for the rest."""
    from rich.table import Table

    drawn = Table(title=table.title, title_justify="left", row_styles=["", "dim"])
    for i, column in enumerate(table.columns):
        widest = max((len(row[i]) for row in table.rows), default=0)
        drawn.add_column(column, overflow="fold", no_wrap=column == "name" and widest <= 0.6 * console.width)
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)


def _print_ids(found: list[str]) -> None:
    """A line for each id: what it is called, and as much as there is room for of what its file says."""
    from rich.console import Console

    console, wide = Console(highlight=False), max(map(len, found), default=0)
    for id in found:
        console.print(f"{id:{wide}}  {registry.doc(id)}", no_wrap=True, overflow="ellipsis", markup=False)


def _entrant(said: str) -> tuple[str, str]:
    name, _, target = said.partition("=")
    if not name or not target:
        _fail(f"--policy wants NAME=file.py:function or NAME=package.module:function, found {said!r}")
    return name, target


def _fail(message: str) -> NoReturn:
    typer.echo(f"harvestgym: {message}", err=True)
    raise typer.Exit(2)


class _Bars:
    """Bars that tell on a terminal how far the work is, and are gone when it is done."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def begin(self, name: str, total: int | None) -> Callable[[int], None]:
        """A new bar, of unknown length without a total; the function that is told how much more is done."""
        return partial(self._progress.advance, self._progress.add_task(name, total=total))


@contextmanager
def _bars(quiet: bool) -> Iterator[_Bars]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as progress:
        yield _Bars(progress)


def _evaluated(id: str, env: Any, policy: str, episodes: int, seed: int, bar: _Bars) -> Evaluation:
    from harvestgym.evaluate.run import evaluate_id

    return evaluate_id(id, policy, episodes, seed, bar.begin(f"{policy} on {id} (compiling first)", episodes), env)


def _recorded(id: str, env: Any, policy: str, seed: int, bar: _Bars) -> tuple[Episode, Evaluation]:
    """The first episode of the evaluation from this seed, and what an evaluation of it alone says."""
    from harvestgym.evaluate.record import record_first
    from harvestgym.evaluate.run import of_episodes, policy_named

    bar.begin(f"recording {policy} on {id} (compiling first)", None)
    record, row = record_first(id, env, policy_named(id, env, policy), seed)
    return Episode(id, env, policy, seed, record), of_episodes(id, env, policy, seed, row)


def _print(result: Evaluation) -> None:
    """The numbers of the episodes as a table, and below it what is no single number."""
    from rich.console import Console
    from rich.table import Table

    from harvestgym.evaluate.statistics import summarise

    many, console = len(result.returns) > 1, Console()
    episodes = f"{len(result.returns)} episodes" if many else "one episode"
    console.print(f"{result.policy} on {result.id}, {episodes}, seed {result.seed}", soft_wrap=True)
    table = Table(show_header=many)
    for column in ("", "mean", "sd", "lowest", "highest") if many else ("", ""):
        table.add_column(column, justify="right" if table.columns else "left")
    for name, values in {"return": result.returns, result.unit: result.lengths, **result.columns}.items():
        if values.dtype.kind in "fiub":
            numbers = (values.mean(), summarise(values).sd, values.min(), values.max()) if many else values
            table.add_row(name, *(f"{float(number):.3f}" for number in numbers))
    if many:
        table.add_row("return, CVaR 10 %", f"{result.summary.cvar10:.3f}")
    if result.risk is not None:
        table.add_row(f"return, {result.risk}", f"{result.risk(result.returns):.3f}")
    console.print(table)
    if many:
        console.print(f"95 % interval of the mean return: {result.summary.low:.3f} to {result.summary.high:.3f}")
    for name, told in result.to_json().items():
        if isinstance(told, dict) and name in result.columns:
            often = sorted(told.items(), key=lambda pair: -pair[1])
            words = ", ".join(f"{label} {count}" if many else label for label, count in often)
            console.print(f"{name}: {words}", soft_wrap=True)
