"""The folder of a published split, file by file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline import metrics
from pipeline.errors import StageError, unknown
from pipeline.profiles.keeping import KEPT, PROFILE
from pipeline.publish.card import Curve, Facts, croissant_of, evaluation_of, keys_card_of, pages_of
from pipeline.publish.card.papers import NOTHING, Notes, license_text, sources_text
from pipeline.publish.staging.checks import check_licence, check_secret, check_split
from pipeline.publish.staging.withheld import part
from pipeline.store.files import below, link, tree_aside
from pipeline.store.manifest import Manifest, read_manifest
from pipeline.store.split import Split

MODES = ("inline", "separate", "withhold")
KEYS_SUFFIX = "-keys"
"""Of the folder and the repo that hold the keys of a split whose rows are published without."""


class Drawn(Protocol):
    """A figure as the card shows it."""

    @property
    def caption(self) -> str:
        """What stands below it."""

    @property
    def alt(self) -> str:
        """What it shows, in words."""

    def svg(self) -> str:
        """Return the text of a file."""

    def png(self) -> bytes:
        """Return the bytes of a file."""


Draw = Callable[[Manifest], Mapping[str, Drawn]]
Exhibit = Callable[[Split], str]
"""What writes a page with an example of every task."""
Read = Callable[[Split], Curve]
"""What lets simulated readers answer a split."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A folder to publish; `keys` is the folder of its keys where these are not in it."""

    folder: Path
    version: str
    keys: Path | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown beside a split: its repo, others' repos, what changed, figures, gallery, readers, licence."""

    repo: str
    siblings: tuple[str, ...] = ()
    notes: Notes = NOTHING
    draw: Draw | None = None
    exhibit: Exhibit | None = None
    read: Read | None = None
    licence: str = ""


def stage(
    split: Split,
    folder: Path,
    *,
    keys: str = "inline",
    repo: str,
    siblings: Sequence[str] = (),
    notes: Notes = NOTHING,
    draw: Draw | None = None,
    exhibit: Exhibit | None = None,
    read: Read | None = None,
    licence: str = "",
) -> Staged:
    """Make the folder that is published from a sealed split, whole or not at all, in place of an older one.

    `keys` is ``inline`` (the shards byte for byte, with their keys), ``separate`` or ``withhold``: then rows lose all
    that tells an answer, and the keys are put beside the folder, to be published on their own or kept. `siblings` are
    repos of the same questions for other tokenizers; `notes` are what the changelog says of the version; `licence` is
    that of users' texts in the rows, which Carrara cannot know.

    Raises:
        StageError: if the split cannot be published so, or `folder` holds something else.
    """
    if keys not in MODES:
        raise StageError(unknown("way to publish keys", keys, MODES))
    check_split(split)
    check_licence(split, licence)
    open_keys = keys == "inline"
    shown = Shown(
        repo, tuple(siblings), notes, draw, exhibit if open_keys else None, read if open_keys else None, licence
    )
    version = split.manifest.version
    _cleared(folder)
    if keys == "inline":
        with tree_aside(folder) as aside:
            _copy_shards(split, aside)
            _copy_profile(split, aside)
            _finish(Split(aside, split.manifest), shown, keys)
        return Staged(folder, version)
    check_secret(split)
    private = folder.with_name(folder.name + KEYS_SUFFIX)
    _cleared(private)
    with tree_aside(folder) as aside, tree_aside(private, secret=True) as hidden:
        told, kept = part(split, aside, hidden)
        _copy_profile(split, aside)
        _finish(Split(aside, told), shown, keys)
        _finish_keys(Split(hidden, kept), shown)
    return Staged(folder, version, private)


def _cleared(folder: Path) -> None:
    """Remove an older staged folder.

    Raises:
        StageError: if there is something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / "README.md").is_file() or read_manifest(folder.parent, folder.name) is None:
        raise StageError(f"{str(folder)!r} holds other files than a split made for publishing: give another folder")
    shutil.rmtree(folder)


def _copy_shards(split: Split, folder: Path) -> None:
    for kind in ("data", "keys"):
        for source in split.shards(kind):
            target = below(folder, str(source.relative_to(split.folder)))
            target.parent.mkdir(parents=True, exist_ok=True)
            link(source, target)


def _copy_profile(split: Split, folder: Path) -> None:
    """Publish the TOML of a profile that is no shipped one; its vocabulary is its owner's, and stays where it is."""
    source = split.folder / KEPT / PROFILE
    if source.is_file():
        (folder / KEPT).mkdir()
        (folder / KEPT / PROFILE).write_bytes(source.read_bytes())


def _finish(split: Split, shown: Shown, keys: str) -> None:
    """Write everything beside the shards; the manifest is the build's own, but for withheld keys."""
    folder = split.folder
    figures = shown.draw(split.manifest) if shown.draw else {}
    for name, figure in figures.items():
        _write(folder / "figures" / f"{name}.svg", figure.svg())
        (folder / "figures" / f"{name}.png").write_bytes(figure.png())
    captions = {name: (figure.caption, figure.alt) for name, figure in figures.items()}
    facts = Facts(
        split,
        shown.repo,
        keys,
        shown.siblings,
        shown.notes,
        captions,
        gallery=shown.exhibit is not None,
        curve=shown.read(split) if shown.read else {},
        licence=shown.licence,
    )
    _write(folder / "manifest.json", split.manifest.text)
    if shown.exhibit:
        _write(folder / "gallery.html", shown.exhibit(split))
    _write(folder / "metrics.py", Path(metrics.__file__).read_text(encoding="utf-8"))
    _write(folder / "LICENSE", license_text())
    _write(folder / "SOURCES.md", sources_text())
    for name, page in pages_of(facts).items():
        _write(folder / name, page)
    _write(folder / "croissant.json", json.dumps(croissant_of(facts), indent=1) + "\n")
    if evaluation := evaluation_of(facts):
        _write(folder / "eval.yaml", evaluation)


def _finish_keys(split: Split, shown: Shown) -> None:
    _write(split.folder / "manifest.json", split.manifest.text)
    _write(split.folder / "metrics.py", Path(metrics.__file__).read_text(encoding="utf-8"))
    _write(split.folder / "README.md", keys_card_of(Facts(split, shown.repo, "private")))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
