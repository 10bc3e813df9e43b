"""Where profiles that are no shipped ones live: with the rows that were cut for them, so that these stay countable.

A release folder holds such a profile in ``<profile>/tokenizer``: its TOML, and the files that it counts with. It is
written once, when the model is first named; from then on nothing is fetched, and no later state of the model is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.errors import ProfileError
from pipeline.paths import StorePath, aside_of, checked_file, place
from pipeline.profiles.hub import Model, fetch_model, parse_model, safe_name
from pipeline.profiles.loading import load_profile, profile_source, shipped_profiles

KEPT = "tokenizer"
PROFILE = "profile.toml"


def kept_profile(root: Path, name: str) -> str | None:
    """Return the TOML that a release folder keeps of a profile, by its name or its model's."""
    for each in (name, safe_name(name.partition("@")[0])):
        path = root / each / KEPT / PROFILE
        if "/" not in each and path.is_file():
            return str(path)
    return None


def known_profile(root: Path, name: str) -> str:
    """Return what loads a profile of a release folder: the TOML that is kept there, or the name of a shipped one."""
    return kept_profile(root, name) or name


def own_profile(given: str) -> bool:
    """Tell whether what a user gave is neither a shipped profile nor a TOML file, but a folder or a model's name."""
    if given in shipped_profiles() or given.endswith(".toml"):
        return False
    return Path(given).is_dir() or parse_model(given) is not None


def settled(given: str, root: Path) -> str:
    """Return what loads the profile that a user named; a folder's or a model's is kept in the release folder first.

    Raises:
        ProfileError: if the folder keeps another state of that model, or the model cannot be had or used.
    """
    if not own_profile(given):
        return known_profile(root, given) if given not in shipped_profiles() else given
    folder = Path(given)
    if folder.is_dir() and (folder / PROFILE).is_file():
        return _copied(folder, root)
    if folder.is_dir():
        return _adopted(given, root)
    model = parse_model(given)
    path = kept_profile(root, model.repo) if model else None
    if model and path:
        _check_state(path, _wanted_commit(model, path), given)
        return path
    return _adopted(given, root)


def _wanted_commit(model: Model, path: str) -> str:
    """Return the state that a name stands for: the one that is kept, unless a revision was given."""
    if model.revision == "main":
        return profile_source(path)
    commit = model.revision if model.is_pinned else fetch_model(model).commit
    return f"{model.repo}@{commit}"


def _check_state(path: str, wanted: str, given: str) -> None:
    held = profile_source(path)
    if held != wanted:
        raise ProfileError(
            f"{str(place(path).parents[2])!r} has rows for {_short(held)}, but {given} is {_short(wanted)}: give "
            "another folder with --out, or name the state that is there"
        )


def _short(state: str) -> str:
    name, mark, digest = state.rpartition("@" if "@" in state else ":")
    return f"{name}{mark}{digest[:12]}"


def _adopted(given: str, root: Path) -> str:
    """Write the profile of a folder or a model into the release folder, unless it is there."""
    from pipeline.profiles.adopting import Source, adopt, source_of_model

    source: Source = source_of_model(given)
    name = safe_name(source.title)
    if name in shipped_profiles():
        raise ProfileError(
            f"{given!r} would be called {name!r}, as a shipped profile is: rename the folder, or make a profile of it "
            "with `carrara profile add --name`"
        )
    target = root / name / KEPT
    if not (target / PROFILE).is_file():
        adopt(source, target)
    _check_state(str(target / PROFILE), source.state, given)
    return str(target / PROFILE)


def _copied(folder: Path, root: Path) -> str:
    """Copy a profile that `carrara profile add` wrote into the release folder, unless it is there."""
    profile = load_profile(str(folder / PROFILE))
    target = root / profile.name / KEPT
    if not (target / PROFILE).is_file():
        profile.counter()  # a vocabulary that was edited is not carried on
        with made_folder(target) as aside:
            for path in sorted(folder.iterdir()):
                if path.is_file():
                    shutil.copyfile(checked_file(path), aside / path.name)
    if load_profile(str(target / PROFILE)).digest != profile.digest:
        raise ProfileError(
            f"{str(root)!r} has rows for another profile {profile.name!r} than that of {str(folder)!r}: give "
            "another folder with --out, or another name with `carrara profile add --name`"
        )
    return str(target / PROFILE)


@contextmanager
def made_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write a profile into, which becomes `folder` when all is well.

    Parts of a build may be started at once, and each makes the profile: the first to end is kept, the others' are
    dropped.

    Raises:
        ProfileError: if `folder` holds something else, or what it is made of cannot be read or written.
    """
    if isinstance(folder, StorePath):
        with _put_folder(folder) as here:
            yield here
        return
    new, aside = [path for path in folder.parents if not path.exists()], aside_of(folder)
    try:
        aside.mkdir(parents=True)
        yield aside
        _take_place(aside, folder)
    except OSError as fault:
        place = str(fault.filename or folder)
        raise ProfileError(f"{place!r} cannot be read or written ({fault.strerror or fault})") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):  # it holds something
            for path in new:
                path.rmdir()


@contextmanager
def _put_folder(folder: StorePath) -> Iterator[Path]:
    """Yield a folder of this machine whose files are put into a store, the profile itself last: then it is there."""
    with TemporaryDirectory(prefix="carrara-") as here:
        try:
            yield Path(here)
            files = sorted(path for path in Path(here).iterdir() if path.name != PROFILE)
            for path in [] if (folder / PROFILE).is_file() else [*files, Path(here) / PROFILE]:
                (folder / path.name).write_bytes(path.read_bytes())
        except OSError as fault:
            raise ProfileError(f"{str(folder)!r} cannot be written ({fault.strerror or fault})") from None


def _take_place(aside: Path, folder: Path) -> None:
    try:
        os.replace(aside, folder)
    except OSError as fault:
        if not (folder / PROFILE).is_file():
            raise ProfileError(
                f"{str(folder)!r} cannot take a profile ({fault.strerror}): remove it, or give another folder with "
                "--out"
            ) from None


def fingerprint(folder: Path) -> str:
    """Return a digest of the files of a model's tokenizer in a folder."""
    from pipeline.profiles.adopting import files_of

    found = hashlib.sha256()
    for name in sorted(files_of(folder)):
        data = checked_file(folder / name).read_bytes()
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()
