"""The command line: list what there is, show what an id is made of, run a policy and see what happened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import registry
from .core.errors import ConfigError

if TYPE_CHECKING:
    from .evaluate.evaluation import Evaluation
    from .evaluate.record import Record

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_show_locals=False)

new = typer.Typer(no_args_is_help=True, help="Begin a part of your own, from files that work as they stand.")
app.add_typer(new, name="new")

WIDE = 200
"""Columns of tables that go to a file or a pipe."""

Id = Annotated[str, typer.Argument(help="an id of `harvestgym list`, or the path of a farm file, my-farm.yaml")]


@app.command("list")
def list_ids(
    family: Annotated[str | None, typer.Argument(help="farm, fishing or forager")] = None,
    tag: Annotated[str | None, typer.Option(help="only those with this tag, such as watering or schedule")] = None,
) -> None:
    """The registered ids."""
    if family not in (None, *registry.FAMILIES):
        _fail(f"unknown family {family!r}; valid: {', '.join(registry.FAMILIES)}")
    try:
        typer.echo("\n".join(registry.ids(family, tag)))
    except ConfigError as error:
        _fail(str(error))


@app.command()
def show(id: Id) -> None:
    """What an id is made of: variables, actions, observation and parameters, with unit, range and source."""
    from rich.console import Console

    env = _make(id)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(f"[bold]{id}[/bold]  {_doc(id, env)}")
    for table in _described(id, env):
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
    if out is not None:
        _check_folder(out)
    if html is not None:
        _check_page(html)
    _check_films(gif, mp4)
    env = _make(id)
    shown = any(path is not None for path in (out, html, gif, mp4))
    first = _recorded(id, env, policy, seed, quiet=as_json) if shown else None
    if first is not None and episodes == 1:
        result = first[1]
    else:
        result = _evaluated(id, env, policy, episodes, seed, quiet=as_json)
    if as_json:
        typer.echo(json.dumps(result.to_json()))
    else:
        _print(result)
    if first is not None:
        for path in _kept(id, env, policy, seed, first[0], out, html):
            typer.echo(f"wrote {path}", err=as_json)
        for path in (gif, mp4):
            if path is not None:
                typer.echo(f"wrote {_film(id, env, first[0], path, width, fps)}", err=as_json)


@app.command()
def record(
    id: Id,
    out: Annotated[Path, typer.Option(help="a new file *.parquet, or a new folder for a Minari dataset")],
    policy: Annotated[str, typer.Option(help="expert, random, none, or another of the id's policies")] = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="how many seasons")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the first; the next have the next ones")] = 0,
) -> None:
    """Keep episodes of a policy as demonstrations to learn from."""
    from .evaluate import demonstrations

    _check_extras(data="pyarrow", **({} if out.suffix == demonstrations.SUFFIX else {"offline": "minari"}))
    try:
        demonstrations.check_new(out)
        kept = demonstrations.record(id, policy, episodes, seed)
    except ConfigError as error:
        _fail(str(error))
        raise
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
    from .play import run

    try:
        run(id, host, port, seed, horizon, out, show=browser, say=typer.echo)
    except ConfigError as error:
        _fail(str(error))


STUDIES = "card, density, fertilizer, fishing, forager, looking, memory, pests-weeds, pollinators, risk, watering"


@app.command()
def study(
    name: Annotated[str, typer.Argument(help=f"one of {STUDIES}")],
    replicates: Annotated[int | None, typer.Option(min=1, help="episodes or lives; by default the study's own")] = None,
    out: Annotated[Path | None, typer.Option(help="a folder for the table (Parquet) and a picture")] = None,
) -> None:
    """Run a study and print its tables; its seasons run at once on all that the device has, so there are no jobs."""
    from rich.console import Console
    from rich.progress import Progress

    from .evaluate import studies

    try:
        run_study = studies.named(name)
    except ConfigError as error:
        _fail(str(error))
        raise
    options = {} if replicates is None else {"replicates": replicates}
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"study {name}", total=None)
        found = run_study(out=out, progress=lambda n: bar.update(task, advance=n), **options)
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
    out: Annotated[Path | None, typer.Option(help="a folder for leaderboard.md and .json, or docs")] = None,
) -> None:
    """What each policy makes of each id on held-out seasons; rows of other ids that OUT has are kept."""
    from rich.console import Console
    from rich.progress import Progress

    from .evaluate import board
    from .evaluate import leaderboard as made

    try:
        entrants = {name: made.entrant(target) for name, _, target in (p.partition("=") for p in policy or [])}
        wanted = made.chosen(ids or [])
        found = []
        with Progress(console=Console(stderr=True), transient=True) as bar:
            for id in bar.track(wanted, description="leaderboard"):
                found += made.rows(id, seasons, entrants, planned)
                if out is not None:
                    board.write(out, board.merged(board.read(out), found))
    except ConfigError as error:
        _fail(str(error))
        raise
    _draw(Console(), board.table(board.merged([], found)))


@app.command()
def check(id: Id) -> None:
    """Check an environment against the contract; says in words what is wrong."""
    from .testing import check_env

    try:
        check_env(_make(id))
    except AssertionError as error:
        _fail(f"{id}: {error}")
    typer.echo(f"{id}: keeps the contract")


@app.command()
def schema() -> None:
    """The JSON Schema of a farm file, for editors that complete and check YAML."""
    from .farm.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


@new.command("entity")
def new_entity(
    name: Annotated[str, typer.Argument(help="what it is called, GreenManure or green_manure")],
    folder: Annotated[Path, typer.Option(help="where the files go")] = Path(),
) -> None:
    """A kind of entity: a module, its parameter sets and its test, which passes; nothing is overwritten."""
    from .new import entity

    try:
        module, sets, test = entity(name, folder)
    except ConfigError as error:
        _fail(str(error))
        raise
    typer.echo(f"wrote {module}, {sets} and {test}; try `pytest {test}`")


def _draw(console: Any, table: Any) -> None:
    from rich.table import Table

    drawn = Table(title=table.title, title_justify="left", row_styles=["", "dim"])
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)


def _make(id: str) -> Any:
    try:
        return registry.make(id)
    except ConfigError as error:
        _fail(str(error))


def _fail(message: str) -> Any:
    typer.echo(f"harvestgym: {message}", err=True)
    raise typer.Exit(2)


def _doc(id: str, env: Any) -> str:
    return registry.doc(id) or (type(env).__doc__ or "").partition("\n")[0]


def _described(id: str, env: Any) -> list[Any]:
    from .evaluate.evaluation import family_function

    return family_function(id, "describe")(env)


def _evaluated(id: str, env: Any, policy: str, episodes: int, seed: int, quiet: bool) -> Evaluation:
    from rich.console import Console
    from rich.progress import Progress

    from .evaluate.evaluation import evaluate_id

    with Progress(console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task(f"{policy} on {id} (compiling first)", total=episodes)
        try:
            return evaluate_id(id, policy, episodes, seed, lambda n: bar.update(task, advance=n), env)
        except ConfigError as error:
            bar.stop()
            _fail(str(error))
            raise


def _recorded(id: str, env: Any, policy: str, seed: int, quiet: bool) -> tuple[Record, Evaluation]:
    """The first episode of the evaluation from this seed, and what an evaluation of it alone says."""
    from rich.console import Console
    from rich.progress import Progress

    from .evaluate.evaluation import of_episodes, policy_named
    from .evaluate.record import record_first

    with Progress(console=Console(stderr=True), disable=quiet, transient=True) as bar:
        bar.add_task(f"recording {policy} on {id} (compiling first)", total=None)
        try:
            acting = policy_named(id, env, policy)
        except ConfigError as error:
            bar.stop()
            _fail(str(error))
            raise
        record, row = record_first(id, env, acting, seed)
    return record, of_episodes(id, env, policy, seed, row)


def _print(result: Evaluation) -> None:
    from rich.console import Console
    from rich.table import Table

    from .evaluate.risk import summarise

    table = Table(title=f"{result.policy} on {result.id}, {len(result.returns)} episodes, seed {result.seed}")
    for column in ("", "mean", "sd", "lowest", "highest"):
        table.add_column(column, justify="left" if not column else "right")
    for name, values in {"return": result.returns, result.unit: result.lengths, **result.columns}.items():
        if values.dtype.kind in "fiub":
            numbers = (values.mean(), summarise(values).sd, values.min(), values.max())
            table.add_row(name, *(f"{float(number):.3f}" for number in numbers))
    summary = result.summary
    table.add_row("return, 95 % interval of the mean", f"{summary.low:.3f} to {summary.high:.3f}")
    table.add_row("return, CVaR 10 %", f"{summary.cvar10:.3f}")
    if result.risk is not None:
        table.add_row(f"return, {result.risk}", f"{result.risk(result.returns):.3f}")
    for name, told in result.to_json().items():
        if isinstance(told, dict) and name in result.columns:
            table.add_row(name, ", ".join(f"{label} {count}" for label, count in told.items()))
    Console().print(table)


def _check_folder(out: Path) -> None:
    """Refuse at once, before the work, a folder that cannot be written or an extra that is missing."""
    _check_extras(data="pyarrow", plot="matplotlib")
    if out.exists() and not out.is_dir():
        _fail(f"--out wants a folder, found the file {out}")


def _check_page(html: Path) -> None:
    """Refuse at once, before the work, a file that cannot be written or an extra that is missing."""
    _check_extras(plot="plotly")
    if html.is_dir() or not html.parent.is_dir():
        _fail(f"--html wants a file in a folder that is there, found {html}")


def _check_films(gif: Path | None, mp4: Path | None) -> None:
    """Refuse at once, before the work, a film that cannot be written or an extra that is missing."""
    from .render.video import check_target

    try:
        for path, suffix in ((gif, ".gif"), (mp4, ".mp4")):
            if path is not None:
                check_target(path, suffix)
    except ConfigError as error:
        _fail(str(error))


def _check_extras(**modules: str) -> None:
    from importlib.util import find_spec

    missing = [extra for extra, module in modules.items() if find_spec(module) is None]
    if missing:
        _fail(f"this needs pip install 'harvestgym[{','.join(missing)}]'")


def _kept(
    id: str, env: Any, policy: str, seed: int, record: Record, out: Path | None, html: Path | None
) -> Iterator[Path]:
    if out is not None:
        yield from _write(id, env, policy, seed, record, out)
    if html is not None:
        yield _page(id, env, policy, seed, record, html)


def _write(id: str, env: Any, policy: str, seed: int, record: Record, out: Path) -> list[Path]:
    from .evaluate.evaluation import family_function
    from .evaluate.record import write_parquet

    out.mkdir(parents=True, exist_ok=True)
    name = Path(id).stem if id.endswith(registry.FILES) else id.replace("/", "-")
    stem = f"{name}-{policy}-{seed}"
    paths = [out / f"{stem}.parquet", out / f"{stem}.png"]
    write_parquet(record, paths[0])
    family_function(id, "figure")(env, record).savefig(paths[1], dpi=110)
    return paths


def _page(id: str, env: Any, policy: str, seed: int, record: Record, html: Path) -> Path:
    from .evaluate.replay import write_replay

    about = f"{_doc(id, env)} One episode of the policy {policy}, seed {seed}."
    title = Path(id).name if id.endswith(registry.FILES) else id
    return write_replay(id, env, record, html, title, about)


def _film(id: str, env: Any, record: Record, path: Path, width: int, fps: float) -> Path:
    from rich.console import Console
    from rich.progress import Progress

    from .evaluate.films import film
    from .render.video import write

    pictures = film(id, env, record, width)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=len(pictures))
        return write(pictures, path, fps, lambda n: bar.update(task, advance=n))
