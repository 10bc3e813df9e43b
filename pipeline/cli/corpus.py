"""The commands for users' own corpora: import, show, write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import click

from pipeline.artifacts.files import atomic_write
from pipeline.cli.group import cli
from pipeline.cli.options import DISK, PLACE, Number, api_key, server_options
from pipeline.corpora.importing import SHAPES, import_corpora
from pipeline.corpora.reading import Source, listed
from pipeline.corpora.records import Corpus, is_imported
from pipeline.errors import PoolError, RecipeError, unknown
from pipeline.inference.corpus import TextRequest, ask_corpus, replies_path
from pipeline.inference.endpoint import Endpoint
from pipeline.streams import Streams
from pipeline.tasks.mrcr.text import request
from pipeline.terminal.printing import say
from pipeline.terminal.progress import at_times, meter
from pipeline.worlds.writing.corpus import Writing, name_fault
from pipeline.worlds.writing.library import CELL, Label, written
from pipeline.worlds.writing.realise import formats, tones
from pipeline.worlds.writing.topics import topics


@cli.group()
def corpus() -> None:
    """Import your own texts, or write texts for mrcr, to use in `carrara build RECIPE --corpus FILE`."""


@corpus.command("import", short_help="Import texts as Parquet.")
@click.argument("shape", type=click.Choice(list(SHAPES)))
@click.argument("folder", metavar="FOLDER", type=DISK)
@click.option("--out", required=True, type=PLACE, metavar="FOLDER", help="Folder to write the corpora to.")
@click.option(
    "--leave-out", is_flag=True, help="Skip faulty entries and print how many there were, instead of failing."
)
@click.option("--escape", is_flag=True, help="Insert a space into text that a chat template would read as markup.")
@click.option(
    "--passages", "most", type=click.IntRange(1), metavar="N", default=100_000, show_default=True,
    help="Keep at most N passages: those that questions refer to, and others drawn at random.",
)  # fmt: skip
def import_(*, shape: str, folder: Path, out: Path, leave_out: bool, escape: bool, most: int) -> None:
    """Read FOLDER and write each corpus in it as a Parquet file, identified by its digest.

    \b
    helmet     HELMET's data: kilt, msmarco, alce
    beir       corpus.jsonl, queries.jsonl and qrels
    dpr        JSON with positive_ctxs or ctxs
    documents  .txt files, or .jsonl with text
    labelled   .jsonl or .csv with text and label
    """  # noqa: D301 - click wants the character
    source = Source(folder, leave_out, escape, most)
    for one in import_corpora(shape, source, out):
        say(f"{one.path}: {describe_corpus(one.corpus)}")
    if source.faults:
        say(f"left out: {listed(source.faults)}")


@corpus.command("show")
@click.argument("file", type=PLACE)
def show_corpus(*, file: Path) -> None:
    """Print counts of what the corpus FILE holds, and its digest."""
    if not file.is_file() or not is_imported(file):
        raise PoolError(f"{str(file)!r} is not a corpus from `carrara corpus import`")
    say(f"{file}: {describe_corpus(Corpus.read(file))}")


NAMES = {"labelled": "labelled texts"}
"""Descriptions of tables whose names do not describe them."""


def describe_corpus(found: Corpus) -> str:
    """Return the contents of a corpus in words, and its digest."""
    parts = [f"{len(some):,} {NAMES.get(name, name)}" for name, some in found.tables().items()]
    asked = [one for one in found.questions if one.answers and not one.shown]
    for count, times in sorted(Counter(len(one.gold) for one in asked).items()):
        parts.append(f"{times:,} to ask that need {count} passage{'s' * (count > 1)}")
    for count, times in sorted(Counter(len(one.answers) for one in asked if len(one.answers) > 1).items()):
        parts.append(f"{times:,} with {count} answers")
    if graded := [sum(grade > 0 for grade in one.grades) for one in found.questions if one.grades]:
        parts.append(f"{min(graded)} to {max(graded)} passages of a grade above 0 for each question")
    if labels := {one.label for one in found.labelled if one.shown}:
        parts.append(f"examples of {len(labels)} labels")
    if shown := sum(one.shown for one in found.questions):
        parts.append(f"{shown:,} for demonstrations")
    return f"{', '.join(parts)}; digest {found.digest}"


FORMATS, TOPICS = 8, 12
"""The number of formats and of topics that are used if none are named."""


@corpus.command(short_help="Write texts for mrcr.")
@click.argument("file", metavar="FILE", type=DISK)
@click.option(
    "--format",
    "forms",
    multiple=True,
    metavar="NAME",
    help=f"Format to write in. Repeatable.  [default: the first {FORMATS} of Carrara's]",
)
@click.option(
    "--topic",
    "about",
    multiple=True,
    metavar="NAME",
    help=f"Topic to write about. Repeatable.  [default: {TOPICS} of Carrara's]",
)
@click.option(
    "--tone", "tone_names", multiple=True, metavar="NAME", help="Tone to write in. Repeatable.  [default: none]"
)
@click.option(
    "--texts", type=click.IntRange(1), metavar="N", default=8, show_default=True, help="Texts for each combination."
)
@click.option("--seed", metavar="N", default=0, show_default=True, help="Seed of the grammars; unused with --base-url.")
@server_options(required=False)
@click.option(
    "--max-concurrency",
    type=click.IntRange(1, 1024),
    metavar="N",
    default=4,
    show_default=True,
    help="Requests in flight at a time.",
)
@click.option(
    "--timeout",
    type=Number(1, 86400),
    metavar="SECONDS",
    default=120.0,
    show_default=True,
    help="Limit for each attempt, and for the total delay that the server asks for.",
)
@click.option(
    "--max-retries",
    type=click.IntRange(0),
    metavar="N",
    default=5,
    show_default=True,
    help="Retries if a request fails.",
)
@click.option(
    "--max-tokens", type=click.IntRange(1), metavar="N", help="Limit for each reply.  [default: the server's own]"
)
def write(
    *,
    file: Path,
    forms: Sequence[str],
    about: Sequence[str],
    tone_names: Sequence[str],
    texts: int,
    seed: int,
    base_url: str | None,
    model: str | None,
    api_key_env: str | None,
    key_file: Path | None,
    max_concurrency: int,
    timeout: float,
    max_retries: int,
    max_tokens: int | None,
) -> None:
    """Write texts for mrcr to FILE (.jsonl), or print them if FILE is `-` (not with --base-url).

    The texts come from Carrara's grammars, or with --base-url from a model. Every reply of a model is kept in
    FILE.replies, so an interrupted run continues where it stopped. To build rows from the texts, use `carrara build
    RECIPE --corpus FILE`.
    """
    labels = _labels(forms, about, tone_names)
    if str(file) != "-" and file.suffix.lower() != ".jsonl":
        raise RecipeError(f"FILE is {str(file)!r}: give a file name ending in .jsonl, or - to print")
    if not base_url:
        _by_grammars(file, labels, texts, seed)
        return
    if not model:
        raise RecipeError("--base-url without a model: give --model or set CARRARA_MODEL")
    if str(file) == "-":
        raise RecipeError("FILE is '-', but a model's replies are kept beside a file: give a file name")
    options = {"max_tokens": max_tokens} if max_tokens else {}
    report = at_times(lambda line: say(line, err=True))
    key = api_key(key_file, api_key_env)
    asked = Endpoint(base_url, model, key, timeout, max_retries + 1, options, on_wait=report)
    _by_model(file, labels, texts, asked, max_concurrency)


def _labels(forms: Sequence[str], about: Sequence[str], tone_names: Sequence[str]) -> list[Label]:
    every = [topic.name for topic in topics()]
    about = about or every[:: max(1, len(every) // TOPICS)][:TOPICS]
    forms = forms or tuple(formats())[:FORMATS]
    labels = (Label(form, topic, tone) for form in forms for topic in about for tone in tone_names or ("",))
    return list(dict.fromkeys(labels))


def _by_model(corpus: Path, labels: Sequence[Label], texts: int, endpoint: Endpoint, workers: int) -> None:
    for label in labels:
        if fault := name_fault(Writing(label.format, label.topic, label.tone, "")):
            raise RecipeError(f"no corpus can contain such a text: {fault}")
    wishes = [
        TextRequest(each.format, each.topic, each.tone, n, request(each)) for n in range(texts) for each in labels
    ]
    with meter("ask", len(wishes)) as shown:
        new = ask_corpus(endpoint, wishes, corpus, workers=workers, on_done=lambda: shown.advance(1, 0))
    say(f"{corpus}: {len(wishes)} texts, {new} of them new; all replies are in {replies_path(corpus)}")


def _by_grammars(corpus: Path, labels: Sequence[Label], texts: int, seed: int) -> None:
    for label in labels:
        _check("format", label.format, formats())
        _check("topic", label.topic, [topic.name for topic in topics()])
        if label.tone:
            _check("tone", label.tone, tones())
    if str(corpus) == "-":
        for label, text in _written(labels, texts, seed):
            say(f"=== {request(label)}\n{text}\n")
        return
    with atomic_write(corpus) as aside, aside.open("w", encoding="utf-8") as file:
        for label, text in _written(labels, texts, seed):
            record = {"format": label.format, "topic": label.topic, "tone": label.tone, "text": text}
            file.write(json.dumps(record) + "\n")
    say(f"{corpus}: {len(labels) * texts} texts, written by the grammars")


def _check(kind: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise RecipeError(unknown(kind, name, known))


def _written(labels: Sequence[Label], texts: int, seed: int) -> Iterator[tuple[Label, str]]:
    for label in labels:
        try:
            for text in written(Streams((seed, "write")), label, islice(cycle(CELL), texts)):
                yield label, text
        except ValueError as fault:
            raise PoolError(f"the grammars have run out of texts ({fault}): ask for fewer than {texts} texts") from None
