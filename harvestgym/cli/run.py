"""Commands that run, score and record policies, tune and calibrate models, and start the game."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from harvestgym import registry
from harvestgym.core.errors import MissingExtraError, check_extras, check_parent, check_suffix, require
from harvestgym.evaluate.export import Exporter, RecordedEpisode, StartBar, check_folder, check_new

from .console import (
    COMPILING,
    SEED_LIMITS,
    Address,
    Allow,
    Engine,
    Host,
    Id,
    NumCpus,
    PolicyName,
    check_engine,
    print_result,
    print_table,
    progress_bar,
    progress_bars,
)

group = typer.Typer()


@group.command()
def run(
    id: Id,
    policy: PolicyName = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="number of episodes")] = 100,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the first episode, as in reset(seed=SEED)")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print the numbers as JSON")] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="print the 95 % interval of each mean")] = False,
    out: Annotated[
        Path | None, typer.Option(help="folder for the first episode as a Parquet file and a picture")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="file for the first episode as an HTML page")] = None,
    gif: Annotated[Path | None, typer.Option(help="file for the first episode as an animated GIF")] = None,
    mp4: Annotated[Path | None, typer.Option(help="file for the first episode as an MP4 video")] = None,
    width: Annotated[int, typer.Option(min=320, max=3840, help="width of GIF and MP4, in pixels")] = 960,
    fps: Annotated[float, typer.Option(min=0.1, max=50, help="frames per second of GIF and MP4")] = 10,
    allow: Allow = None,
) -> None:
    """Run a policy for some episodes and print a table of the results."""
    from harvestgym.evaluate.run import evaluate_id

    export = Exporter(out, html, gif, mp4, width, fps)
    export.check()
    env = registry.make(id)
    with progress_bars(quiet=as_json) as start_bar:
        recorded = _record_first(id, env, policy, seed, start_bar) if export else None
        result = recorded.result if recorded is not None and episodes == 1 else None
        if result is None:
            bar = start_bar(f"{policy} on {id}", episodes, COMPILING)
            result = evaluate_id(id, policy, episodes, seed, bar, env)
    if as_json:
        typer.echo(json.dumps(result.to_json()))
    else:
        print_result(result, result.to_table(intervals))
    if recorded is not None:
        with progress_bars() as start_bar:
            written = [*export.write(recorded, start_bar)]
        for path in written:
            typer.echo(f"wrote {path}", err=as_json)


def _record_first(id: str, env: Any, policy: str, seed: int, start_bar: StartBar) -> RecordedEpisode:
    """Record and evaluate a single episode: the first that an evaluation with this seed would run."""
    from harvestgym.evaluate.record import record_named

    start_bar(f"recording {policy} on {id}", None, COMPILING)
    return record_named(id, policy, seed, env)


@group.command()
def score(
    id: Id,
    policy: Annotated[
        str, typer.Option(help="a policy name, as for `run`, or module:function, or file.py:function")
    ] = "expert",
    episodes: Annotated[
        int | None,
        typer.Option(min=2, help="number of held-out episodes; default: the number used for the reference scores"),
    ] = None,
    allow: Allow = None,
) -> None:
    """Score a policy on held-out episodes; doing nothing scores 0 and the best known policy scores 1."""
    from harvestgym.evaluate.score import score as score_policy

    with progress_bar(f"{policy} on {id}", episodes) as advance:
        found = score_policy(id, policy, episodes, advance)
    print_result(found)


@group.command("suite")
def score_on_suite(
    policy: Annotated[str | None, typer.Option(help="a policy, as for `score`; if omitted, the ids are listed")] = None,
    ids: Annotated[list[str] | None, typer.Option(help="an id of the suite; repeat for several; default: all")] = None,
    out: Annotated[Path | None, typer.Option(help="a new *.json file for the result")] = None,
    name: Annotated[str | None, typer.Option(help="name of the policy in the result; default: --policy")] = None,
    work: Annotated[Path | None, typer.Option(help="folder from which an interrupted run continues")] = None,
    engine: Engine = "local",
    address: Address = None,
    num_cpus: NumCpus = 1,
    allow: Allow = None,
) -> None:
    """List the core suite, or score a policy on its frozen test episodes; the best known policies score 1."""
    from harvestgym.evaluate.score import BEST
    from harvestgym.evaluate.suite import list_anchors, make_cases, run_suite
    from harvestgym.sweep.batches import EngineOptions

    if policy is None:
        require(not (ids or out or name or work), "--policy", "a policy", "none", "--policy expert")
        print_table(list_anchors())
        typer.echo(BEST)
        return
    if out is not None:
        check_new(check_parent(check_suffix(out, ".json")))
    check_engine(engine, work is not None)
    options = EngineOptions(engine, address, num_cpus=num_cpus, allow=tuple(allow or ()))
    with progress_bar(f"{policy} on the core suite", len(make_cases(policy, ids))) as advance:
        found = run_suite(policy, ids, progress=advance, work=work, options=options)
    found = replace(found, policy=name or policy)
    print_result(found)
    if out is not None:
        found.write(out)
        typer.echo(f"wrote {out}")


@group.command()
def record(
    id: Id,
    out: Annotated[Path, typer.Option(help="a new *.parquet file")],
    policy: PolicyName = "expert",
    episodes: Annotated[int, typer.Option(min=1, help="number of episodes")] = 10,
    seed: Annotated[
        int, typer.Option(**SEED_LIMITS, help="seed of the first episode; the next episodes use consecutive seeds")
    ] = 0,
    split: Annotated[str | None, typer.Option(help="train or test: use only seeds and years of this split")] = None,
    allow: Allow = None,
) -> None:
    """Record episodes of a policy as a demonstration dataset."""
    from harvestgym.evaluate.datasets import demonstration_files
    from harvestgym.evaluate.datasets.episodes import record_demonstrations

    check_extras("record", data="pyarrow")
    check_new(check_suffix(out, demonstration_files.SUFFIX))
    check_folder("--out", out.parent)
    with progress_bar(f"recording {policy} on {id}"):
        dataset = record_demonstrations(id, policy, episodes, seed, split)
    demonstration_files.write_demonstrations(dataset, out)
    typer.echo(f"wrote {out}: {len(dataset.episodes)} episodes, {dataset.steps} steps")


@group.command("tune")
def tune_expert(
    id: Id,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the search and of its training seasons")] = 0,
    candidates: Annotated[int, typer.Option(min=32, help="number of candidates for each rule")] = 480,
    seasons: Annotated[int, typer.Option(min=2, help="training seasons for each candidate")] = 48,
    out: Annotated[Path | None, typer.Option(help="file; default: tuned/NAME.yaml next to the id's file")] = None,
    allow: Allow = None,
) -> None:
    """Tune the rules of an id on its training split; the best rule becomes its expert.

    The numbers in each rule are optimised by differential evolution, with all candidates of a generation in one batch.
    """
    from harvestgym.core.config import locate_tuned
    from harvestgym.evaluate.tune import Budget, find_rules, tune_rules

    path = locate_tuned(registry.locate_file(id)) if out is None else check_suffix(out, *registry.FARM_SUFFIXES)
    check_folder("--out", path.parent) if out is None else check_parent(path)
    families, _ = find_rules(id, registry.make(id))
    with progress_bar(f"tuning {id}", candidates * max(len(families), 1)) as advance:
        best = tune_rules(id, seed, Budget(candidates, seasons), advance)
    best.write(path)
    numbers = ", ".join(f"{name} = {value:g}" for name, value in best.numbers.items()) or "no numbers"
    typer.echo(f"{best.rule}: {numbers}")
    typer.echo(f"training return {best.made['training return']:g}; wrote {path}")


@group.command()
def calibrate(
    id: Id,
    table: Annotated[Path, typer.Argument(help="CSV: year, biomass, catch; or variables of a farm by day or season")],
    free: Annotated[
        list[str] | None, typer.Option(help="PATH=LOW:HIGH, a parameter of a farm and its range; repeat for several")
    ] = None,
    policy: PolicyName = "expert",
    seasons: Annotated[int, typer.Option(min=1, help="seasons for each candidate; their median is compared")] = 8,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the seasons and of the search")] = 0,
    start: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="date of day 0, for a table with dates")
    ] = None,
    law: Annotated[str | None, typer.Option(help="growth law of a stock; default: the smallest AICc")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the fitted file, its numbers and a picture")] = None,
    allow: Allow = None,
) -> None:
    """Fit a fishery to yearly biomass and catch, or a farm to measured seasons, with one row per day or per season.

    Measurements have the unit of the column's name, and are compared with the mean over all plots, including empty
    ones; a name such as Soil-0.available_Water[0, 1] selects one plot. docs/calibration.md lists the columns that set a
    season's start, treatment and parameters.
    """
    from harvestgym.evaluate.calibrate_table import calibrate_table

    files = {suffix: (out or Path()) / f"{table.stem}{suffix}" for suffix in (".yaml", ".json", ".png")}
    if out is not None:
        try:
            check_extras(files[".png"].name, plot="matplotlib")
        except MissingExtraError as error:
            typer.echo(f"skipping {error}")
            del files[".png"]
        check_folder("--out", out)
        for path in files.values():
            check_new(path)
    options: dict[str, Any] = {"law": law, "policy": policy, "seasons": seasons, "seed": seed}
    options["say"] = partial(typer.echo, err=True)
    options |= {"start": start.toordinal()} if start is not None else {}
    with progress_bar(f"fitting {id}"):
        found = calibrate_table(id, table, dict(map(_read_range, free or ())), **options)
    print_table(found.to_table(f"{id} fitted to {table.name}, with 95 % intervals"))
    if found.across == "row":
        print_table(found.compare())
    typer.echo("\n".join(found.notes))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        found.write(files)
        typer.echo("wrote " + ", ".join(map(str, files.values())))


def _read_range(text: str) -> tuple[str, tuple[float, float]]:
    path, _, ends = text.rpartition("=")
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        low, high = 0.0, 0.0
    require(low < high, "--free", "PATH=LOW:HIGH", repr(text), "Field-0/Soil-0/depth#m=0.3:1.2")
    return path, (low, high)


@group.command()
def play(
    id: Id,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port; 0 selects any free port")] = 8080,
    host: Host = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="open a browser")] = True,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the first episode in each tab")] = 0,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="length of an episode in days, years or steps; default: as in the id")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for saved episodes")] = Path(),
    allow: Allow = None,
) -> None:
    """Play an environment yourself in the browser."""
    from harvestgym import play as game

    game.run(id, host, port, seed, horizon, out, show=browser, say=typer.echo)
