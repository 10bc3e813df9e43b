"""The command that proves the rows of a build or of any copy of a split: verify."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pipeline.artifacts.manifest import read_manifest
from pipeline.artifacts.recipes import read_recipes
from pipeline.artifacts.split import Split, no_build, open_split
from pipeline.assemble.plan import make_plan
from pipeline.cli.base import executor_opener, open_stages, profile_names, run_options
from pipeline.cli.group import REPORTED, cli
from pipeline.cli.options import PLACE, WHERE
from pipeline.cli.tables import verified_lines
from pipeline.errors import CarraraError, CorruptError, FrozenError, RecipeError, SplitError
from pipeline.profiles import load_profile, shipped_profiles
from pipeline.profiles.adopt import KEPT, PROFILE, kept_profile, known_profile
from pipeline.publish.splits import fetched
from pipeline.release.freeze import make_lock
from pipeline.release.rebuild import rebuild
from pipeline.storage import temporary_folder
from pipeline.terminal.printing import say
from pipeline.verify.copy import CopyFindings, SplitCopy, check_copy
from pipeline.verify.lock import Lock, find_lock, read_lock
from pipeline.verify.seal import check_recipe


@cli.command()
@click.argument("folder", metavar="[FOLDER]", type=PLACE, required=False)
@click.option(
    "--tokenizer",
    "tokenizers",
    multiple=True,
    metavar="NAME",
    help="Verify only this profile; give your own as a TOML file. Repeatable.",
)
@click.option(
    "--against", "where", metavar=WHERE, help="Check this copy instead of a build: a folder, or org/name@tag."
)
@click.option(
    "--lock", "lock_file", type=PLACE, metavar="FILE", help="With --against: the lock to compare the copy with."
)
@click.option(
    "--rebuild", "again", is_flag=True, help="With --against: also rebuild the split from its lock and compare."
)
@click.option("--into", type=PLACE, metavar="FOLDER", help="Folder for --rebuild.  [default: a temporary one]")
@run_options
def verify(
    *,
    folder: Path | None,
    tokenizers: Sequence[str],
    where: str | None,
    lock_file: Path | None,
    again: bool,
    into: Path | None,
    **how: Any,
) -> None:
    """Recount and re-solve every row of the build in FOLDER, and seal its manifests.

    A shard that fails is listed and moved aside; the next build regenerates it. Without --part, the exit code is 2 if
    part of the build is missing, as it cannot be sealed.

    With --against, nothing is changed: a published set, a copy or a build is recounted, solved, and compared with
    its manifest and with a lock (--lock, FOLDER's, or its own).
    """
    if where:
        with temporary_folder() as apart:
            root = fetched(where)
            if how["address"] is not None:  # workers have other working directories
                root, folder, into = root.absolute(), folder and folder.absolute(), into and into.absolute()
            more = again or into is not None
            _verify_copy(CopyToVerify(where, root, folder, lock_file, tuple(tokenizers), more, Path(apart)), into, how)
    elif folder and not (lock_file or again or into):
        _verify_build(folder, tokenizers, how)
    else:
        raise RecipeError(
            "nothing to verify: give FOLDER, or --against SPLIT (--lock, --rebuild and --into need --against)"
        )


def _verify_build(folder: Path, tokenizers: Sequence[str], how: dict[str, Any]) -> None:
    recipes = read_recipes(folder)
    if not recipes:
        raise CarraraError(no_build(folder))
    lacking = False
    for recipe in recipes:
        check_recipe(folder, recipe)
        names = profile_names(tokenizers, folder, keep=False) if tokenizers else built_profiles(folder, recipe.tier)
        if not names:
            raise CarraraError(f"{str(folder)!r} has no shards of tier {recipe.tier}: build it first")
        plan = make_plan(recipe, names, folder)
        stages = open_stages(plan, **how)
        made = stages.verify()
        say("\n".join(verified_lines(plan, stages, made)))
        lacking = lacking or (stages.part == (1, 1) and None in made)
    if lacking:
        sys.exit(REPORTED)


def built_profiles(folder: Path, tier: str) -> tuple[str, ...]:
    """Return the profiles with shards of a tier in a folder, or a manifest that lists the tier, for `load_profile`.

    Raises:
        CarraraError: if one of them is neither shipped nor kept there.
    """
    found = sorted({path.parents[2].name for path in folder.glob(f"*/data/*/{tier}")} | sealed_profiles(folder, tier))
    names = [known_profile(folder, name) for name in found]
    for name, path in zip(found, names, strict=True):
        if name == path and name not in shipped_profiles():
            raise CarraraError(
                f"{str(folder)!r} has profile {name!r}, which is not a shipped one: give its TOML with --tokenizer"
            )
    return tuple(names)


def sealed_profiles(folder: Path, tier: str) -> set[str]:
    """Return the profiles whose manifest lists a tier, even if its shards are gone."""
    names = [path.parent.name for path in folder.glob("*/manifest.json")]
    return {name for name in names if (made := read_manifest(folder, name)) and tier in made.tiers}


@dataclass(frozen=True)
class CopyToVerify:
    """A copy to check: the name given, its folder, the maintainer's folder, a lock, profiles, whether to rebuild.

    Profiles given as models are written into the folder `apart`, since nothing may be written into a copy.
    """

    where: str
    root: Path
    folder: Path | None
    lock_file: Path | None
    tokenizers: tuple[str, ...]
    again: bool
    apart: Path

    @property
    def lock(self) -> Lock | None:
        """The given lock, else the maintainer's folder's, else the one that came with the copy."""
        if self.lock_file:
            return read_lock(self.lock_file)
        if self.folder:
            return find_lock(self.folder) or make_lock(self.folder)
        return find_lock(self.root) or find_lock(self.root.parent)

    @property
    def corpora(self) -> list[Path]:
        """Folders that may contain a user's own texts."""
        roots = [self.folder, self.root, self.root.parent, self.lock_file.parent if self.lock_file else None]
        return [root / "corpora" for root in roots if root]

    @property
    def named(self) -> dict[str, str]:
        """The given profiles, by name, in the form that `load_profile` takes."""
        kept = [kept_profile(self.root, each) or each for each in self.tokenizers]
        names = profile_names(kept, self.apart, keep=False) if kept else ()
        return {load_profile(name).name: name for name in names}

    def _kept(self, split: Split) -> dict[str, str]:
        """Return the path of the profile in the maintainer's folder, else of the one that came with the copy."""
        if split.tokenizer in shipped_profiles():
            return {}
        if own := kept_profile(self.folder, split.tokenizer) if self.folder else None:
            return {split.tokenizer: own}
        beside = split.folder / KEPT / PROFILE
        return {split.tokenizer: str(beside)} if beside.is_file() else {}

    def splits(self) -> list[Split]:
        """Return the splits of the copy, for the given profiles only if there are any.

        Raises:
            SplitError: if there is none.
        """
        folders = (path.parent for path in self.root.glob("*/manifest.json"))
        inside = sorted(folder for folder in folders if (folder / "data").is_dir())  # not keys that are kept apart
        found = [open_split(path) for path in ([] if (self.root / "manifest.json").is_file() else inside)]
        names = set(self.named) if self.tokenizers else None
        chosen = [split for split in found or [open_split(self.root)] if names is None or split.tokenizer in names]
        if not chosen:
            raise SplitError(f"{self.where} has no split for {', '.join(sorted(names or ()))}: leave out --tokenizer")
        return chosen

    def profile(self, split: Split) -> str:
        """Return the profile of a split, in the form that `load_profile` takes.

        Raises:
            SplitError: if it is not shipped, given or kept.
        """
        own = self._kept(split) | self.named
        if split.tokenizer not in own and split.tokenizer not in shipped_profiles():
            raise SplitError(
                f"{self.where} is cut for profile {split.tokenizer!r}, which is not a shipped one: give its TOML with "
                "--tokenizer"
            )
        return own.get(split.tokenizer, split.tokenizer)


def _verify_copy(given: CopyToVerify, into: Path | None, how: dict[str, Any]) -> None:
    if how["part"] != "1/1":
        raise RecipeError(f"--part {how['part']} cannot be used with --against: a copy is checked as a whole")
    splits, lock = given.splits(), given.lock
    names = [given.profile(split) for split in splits]
    with _rebuilt_folder(given, into) as made:
        seen = [_rebuilt(given, lock, names, made, how)] if made else []
        for split, name in zip(splits, names, strict=True):
            own = given.folder or made
            copy = SplitCopy(
                split, load_profile(name), lock, own / split.tokenizer if own else None, tuple(given.corpora)
            )
            seen.append(check_copy(copy, _engine(how, split.folder, *([own] if own else [])), quiet=how["quiet"]))
    _report(given.where, seen)


@contextmanager
def _rebuilt_folder(given: CopyToVerify, into: Path | None) -> Iterator[Path | None]:
    """Yield the folder to rebuild in, if a rebuild was requested."""
    if into and into.resolve() in {path.resolve() for path in (given.root, given.root.parent, given.folder) if path}:
        raise FrozenError(f"--into {str(into)!r} is the folder being checked: give another one")
    if not given.again or into:
        yield into
        return
    with temporary_folder() as folder:
        yield Path(folder)


def _rebuilt(
    given: CopyToVerify, lock: Lock | None, names: Sequence[str], into: Path, how: dict[str, Any]
) -> CopyFindings:
    if lock is None:
        raise FrozenError("--rebuild needs a lock: give --lock FILE or the frozen FOLDER")
    made = rebuild(lock, names, into, given.corpora, lambda plan: open_stages(plan, **how))
    return CopyFindings(f"{lock.title}: {made.line}", made.faults)


def _engine(how: dict[str, Any], *folders: Path) -> Callable[[], Executor]:
    return executor_opener(how["workers"], how["address"], how["wait"], *folders, writes=False)


def _report(where: str, seen: Sequence[CopyFindings]) -> None:
    faults = [fault for each in seen for fault in each.faults]
    say("\n".join([*(each.line for each in seen if not each.faults), *faults]))
    if faults:
        more = f" (and {len(faults) - 1} more, all listed)" if len(faults) > 1 else ""
        raise CorruptError(f"{where} fails verification: {faults[0]}{more}")
