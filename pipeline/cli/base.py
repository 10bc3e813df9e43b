"""The common options of build commands, and how they become a plan and its stages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.lite import LITE
from pipeline.artifacts.recipes import check_release
from pipeline.assemble.corpora import with_corpora
from pipeline.assemble.plan import Plan, make_plan
from pipeline.cli.options import PLACE, Number
from pipeline.corpora.records import freeze_corpus
from pipeline.errors import FrozenError, RecipeError
from pipeline.executors import processes
from pipeline.executors.dask import WAIT, dask
from pipeline.profiles import DEFAULT_PROFILES, base_profiles, load_profile, shipped_profiles
from pipeline.profiles.adopt import kept_profile, own_profile, settled
from pipeline.recipe import SIZES, Recipe, load_recipe
from pipeline.stages import Stages
from pipeline.verify.lock import find_lock


def checked_size(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return a valid size for a recipe: a named one, or a number of blocks."""
    if value is None or value in SIZES or re.fullmatch("[1-9][0-9]{0,17}", value):
        return value
    if value == LITE:
        raise click.BadParameter("lite needs no build of its own: build the default size, then use run --size lite")
    raise click.BadParameter(f"{value!r} is not a size: give default, full, or a whole number of blocks, such as 40")


SIZE = click.option(
    "--size", metavar="[default|full|N]", callback=checked_size, default="default", show_default=True,
    help="Rows per stratum: 'full', or N times the default. A larger size contains all rows of a smaller one.",
)  # fmt: skip


def plan_from(*, keep: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the common options of stages (recipe, folder, profiles, families, corpus), and pass the plan they make.

    With `keep`, the user's own TOML files are first copied into the folder.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_plan(
            recipe: str,
            out: Path | None,
            tokenizers: Sequence[str],
            families: Sequence[str],
            size: str,
            corpora: Sequence[Path],
            *,
            only: bool,
            **rest: Any,
        ) -> None:
            command(open_plan(recipe, out, tokenizers, families, size, corpora, only=only, keep=keep), **rest)

        return recipe_options(with_plan)

    return with_options


def recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that define the plan."""
    for option in reversed(
        [
            click.argument("recipe"),
            click.option(
                "--out", type=PLACE, metavar="FOLDER",
                help="Release folder to write to, on disk or in a store such as s3://bucket/v1.  "
                "[default: outputs/v<version> or outputs/v<version>-<variant>]",
            ),
            click.option(
                "--tokenizer", "tokenizers", multiple=True, metavar="NAME",
                help="Profile: a shipped one, 'all' for those that need no download, a TOML file, a model on the Hub "
                "(org/name), a model's folder, or a GGUF file. Repeatable.  "
                f"[default: {', '.join(DEFAULT_PROFILES)}]",
            ),
            click.option(
                "--family", "families", multiple=True, metavar="NAME",
                help="Build only this family for now. Without --only, the release is sealed once all are built. "
                "Repeatable.",
            ),
            click.option(
                "--only", is_flag=True,
                help="Make a release of only the families given with --family, and seal it without the others.",
            ),
            SIZE,
            click.option(
                "--corpus", "corpora", multiple=True, type=PLACE, metavar="FILE",
                help="Your own texts: a file from `carrara corpus import`, or for mrcr one from `carrara corpus write` "
                "(.jsonl or .parquet with format, topic, text and optionally tone). Repeatable.",
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for how a stage runs."""
    for option in reversed(
        [
            click.option(
                "--workers", type=click.IntRange(1), metavar="N", default=os.cpu_count() or 1, show_default="all cores",
                help="Number of worker processes.",
            ),
            click.option(
                "--part", default="1/1", show_default=True, metavar="I/N",
                help="Process only part I of N, to divide the work among machines (not with `extend` or --against).",
            ),
            click.option(
                "--dask", "address", metavar="ADDRESS",
                help="Run on the Dask cluster with the scheduler at ADDRESS: tcp://host:8786, or its scheduler file. "
                "All workers must see the same folder or reach the same store.",
            ),
            click.option(
                "--dask-wait", "wait", type=Number(0, min_open=True), default=WAIT, show_default=True,
                metavar="SECONDS", help="Time to wait for a first worker, and for a new one if all are lost.",
            ),
            click.option("--quiet", is_flag=True, help="Do not show progress."),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def open_plan(
    recipe: str,
    out: Path | None,
    tokenizers: Sequence[str],
    families: Sequence[str],
    size: str,
    corpora: Sequence[Path],
    *,
    only: bool = False,
    keep: bool = True,
) -> Plan:
    """Return the plan for the common options; corpora and the profiles of models are copied into the folder.

    They are copied only after checking that the recipe may be built there.
    """
    loaded = load_recipe(recipe).sized(size)
    loaded = loaded.only(families) if only else loaded
    folder = out or Path("outputs") / loaded.folder
    if only:
        _check_others(folder, loaded)
    if corpora or any(own_profile(name) for name in _named(tokenizers) if keep or not name.endswith(".toml")):
        check_release(folder, loaded)
        if not corpora:  # corpora decide what can be planned
            make_plan(loaded, (), folder, tuple(families))
    if corpora:
        loaded = with_corpora(loaded, [freeze_corpus(path, folder / "corpora") for path in corpora])
    names = profile_names(tokenizers, folder, keep=keep)
    return make_plan(loaded, names, folder, tuple(dict.fromkeys(families)))


def _check_others(folder: Path, recipe: Recipe) -> None:
    """Check that a folder has no shards of the recipe's tier that --only would remove.

    Raises:
        RecipeError: naming their families.
    """
    found = {path.parents[1].name for path in folder.glob(f"*/data/*/{recipe.tier}/test-*.parquet")}
    others = found - set(recipe.families)
    if others:
        raise RecipeError(
            f"{str(folder)!r} holds shards of {', '.join(sorted(others))}, which --only would remove: name these with "
            "--family too, or give another folder with --out"
        )


def profile_names(tokenizers: Sequence[str], root: Path | None = None, *, keep: bool = True) -> tuple[str, ...]:
    """Return the profiles that ``--tokenizer`` names; those of models are stored in the release folder `root`.

    With `keep`, so are those of TOML files.

    Raises:
        FrozenError: for a model that is not in a frozen folder.
    """
    names = (each for name in _named(tokenizers) for each in (base_profiles() if name == "all" else (name,)))
    found = dict.fromkeys(
        name if root is None or (name.endswith(".toml") and not keep) else _settled(name, root) for name in names
    )
    return tuple(found) or DEFAULT_PROFILES


def _named(tokenizers: Sequence[str]) -> list[str]:
    """Return the names in some options, each of which may contain several."""
    split = ([given] if _is_path(given) else given.replace(",", " ").split() for given in tokenizers)
    return [name for names in split for name in names]


def _is_path(given: str) -> bool:
    return given.endswith(".toml") or Path(given).is_dir()


def _settled(name: str, root: Path) -> str:
    known = load_profile(name).name if name.endswith(".toml") else name
    is_new = own_profile(name) and known not in shipped_profiles() and not kept_profile(root, known)
    if is_new and (lock := find_lock(root)):
        raise FrozenError(
            f"{str(root)!r} is frozen as {lock.title}, without {name}: give another folder with --out, or add the "
            f"profile with `carrara extend {root} --tokenizer {name}`"
        )
    return settled(name, root)


def open_stages(plan: Plan, workers: int, part: str, address: str | None, wait: float, *, quiet: bool) -> Stages:
    """Return the stages of a plan, to run on the executor that the options select."""
    if address is not None:  # workers have other working directories
        plan = replace(plan, out=plan.out.absolute())
    return Stages(plan, executor_opener(workers, address, wait, plan.out), parse_part(part), quiet)


def executor_opener(
    workers: int, address: str | None, wait: float, folder: Path, *others: Path, writes: bool = True
) -> Callable[[], Executor]:
    """Return a function that opens the executor that the options select; a cluster's workers must share the folders.

    If jobs write nothing, neither does the executor.
    """
    if address is not None:
        return dask(address, folder.absolute(), wait, *(other.absolute() for other in others), writes=writes)
    return processes(1 if str(folder).startswith("memory://") else workers)  # other processes cannot see that memory


def parse_part(part: str) -> tuple[int, int]:
    """Parse a part like ``2/8``.

    Raises:
        RecipeError: if it is not a valid part.
    """
    number, _, of = part.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise RecipeError(f"--part {part}: give I/N with 1 <= I <= N, such as 2/8")
    return int(number), int(of)
