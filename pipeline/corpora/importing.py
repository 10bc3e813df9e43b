"""Importing: from a folder in one of several shapes to frozen corpora."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.corpora.formats import beir, documents, dpr, labelled
from pipeline.corpora.helmet import helmet
from pipeline.corpora.reading import Source
from pipeline.corpora.records import Corpus, write_corpus_file
from pipeline.errors import PoolError

SHAPES: Mapping[str, Callable[[Source], Iterator[tuple[str, Corpus]]]] = {
    "helmet": helmet,
    "beir": beir,
    "dpr": dpr,
    "documents": documents,
    "labelled": labelled,
}
"""The shapes of folders, each with its reader."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A corpus that was written to a file."""

    path: Path
    corpus: Corpus


def import_corpora(shape: str, source: Source, out: Path) -> list[Imported]:
    """Read a folder and write each of its corpora to a file; nothing is written if there are faults.

    Raises:
        PoolError: if there are faults (with file and line), or nothing of this shape.
        BuildError: if a file cannot be written.
    """
    if not source.root.is_dir():
        raise PoolError(f"no folder {str(source.root)!r}")
    try:
        corpora = dict(SHAPES[shape](source))
    except OSError as fault:
        raise PoolError(f"{str(source.root)!r} cannot be read: {fault}") from None
    source.check()
    corpora = {name: corpus for name, corpus in corpora.items() if corpus.tables()}
    if not corpora:
        raise PoolError(
            f"{str(source.root)!r} holds nothing in the shape {shape!r}: see `carrara corpus import --help`"
        )
    made = [Imported(out / f"{name}.parquet", corpus) for name, corpus in corpora.items()]
    for one in made:
        write_corpus_file(one.corpus, one.path)
    return made
