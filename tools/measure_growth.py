"""Measure how time and memory grow with the rows of a recipe: ``python tools/measure_growth.py 2000 20000``.

Each stage runs as a separate command with one worker. CPU time includes the command's children; memory is the peak of
the largest process. The exponent is the slope between two sizes on logarithmic axes: 1 is linear.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log
from pathlib import Path

import click

from pipeline.terminal.printing import say

FAMILIES = {"bio": "standard", "latent_list": "print"}
COMPLEXITIES = {"bio": 1, "latent_list": 5}
STAGES = ("plan", "sample", "build", "again", "verify")


@dataclass(frozen=True)
class Cost:
    """The cost of one command: CPU seconds, and the peak memory of its largest process in bytes."""

    seconds: float
    peak: int


def main_recipe(family: str, rows: int) -> str:
    """Return a recipe of one stratum with length 2,048."""
    return (
        'release = "growth"\nversion = "1.0.0"\nseed = 1\ntier = "32k"\n\n[[strata]]\n'
        f'family = "{family}"\nsubtasks = ["{FAMILIES[family]}"]\ncomplexity = [{COMPLEXITIES[family]}]\n'
        f"lengths = [2048]\nrows = {rows}\n"
    )


def cost(*words: str) -> Cost:
    """Run ``carrara`` with these arguments and return its cost.

    Raises:
        click.ClickException: if its exit code is not 0.
    """
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "pipeline", *words], os.environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise click.ClickException(f"carrara {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def costs(family: str, rows: int, folder: Path) -> dict[str, Cost]:
    """Return the cost of each stage for a number of rows; `again` is a second build, which finds everything done."""
    recipe = folder / "growth.toml"
    recipe.write_text(main_recipe(family, rows), encoding="utf-8")
    out = str(folder / "out")
    common = (str(recipe), "--out", out)
    build = ("build", *common, "--tokenizer", "o200k", "--workers", "1", "--quiet")
    return {
        "plan": cost("plan", *common, "--tokenizer", "o200k"),
        "sample": cost("build", "--until", "sample", *common, "--workers", "1", "--quiet"),
        "build": cost(*build),
        "again": cost(*build),
        "verify": cost("verify", out, "--workers", "1"),
    }


def table(family: str, sizes: list[int]) -> Iterator[str]:
    """Yield the lines of a family's table, as soon as each size is measured."""
    measured = []
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measured.append(costs(family, rows, Path(folder)))
        for stage, cost in measured[-1].items():
            yield f"{family:12} {rows:9,} {stage:7} {cost.seconds:9.1f} s CPU {cost.peak / 2**20:7.0f} MB"
    for (few, before), (many, after) in pairwise(zip(sizes, measured, strict=True)):
        slopes = (f"{stage} {log(after[stage].seconds / before[stage].seconds, many / few):.2f}" for stage in STAGES)
        yield f"{family:12} exponents from {few:,} to {many:,} rows: {', '.join(slopes)}"


@click.command()
@click.argument("sizes", type=click.IntRange(min=1), nargs=-1, required=True)
@click.option("--family", type=click.Choice(list(FAMILIES)), multiple=True, default=list(FAMILIES))
def main(sizes: tuple[int, ...], family: tuple[str, ...]) -> None:
    """Measure plan, sample, build, a second build and verify at each of SIZES rows of 2,048 tokens."""
    for name in family:
        for line in table(name, sorted(sizes)):
            say(line)


if __name__ == "__main__":
    main()
