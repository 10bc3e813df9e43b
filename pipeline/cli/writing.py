"""The command that writes a corpus, with Carrara's grammars or any OpenAI-compatible server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import click

from pipeline.ask.corpus import ask_corpus, replies_path
from pipeline.ask.endpoint import Endpoint
from pipeline.ask.replies import Wish
from pipeline.cli.group import cli
from pipeline.cli.numbers import Number
from pipeline.cli.options import KEY_FILE, api_key
from pipeline.cli.places import DISK
from pipeline.errors import PoolError, RecipeError, unknown
from pipeline.store.files import written_aside
from pipeline.streams import Streams
from pipeline.tasks.mrcr.text import request
from pipeline.terminal.printing import say
from pipeline.terminal.progress import meter
from pipeline.worlds.writing.checks import Writing, name_fault
from pipeline.worlds.writing.library import CELL, Label, written
from pipeline.worlds.writing.sources import formats, tones
from pipeline.worlds.writing.topics import topics

FORMATS, TOPICS = 8, 12
"""How many formats and topics are used if none are named."""


@cli.command()
@click.argument("corpus", type=DISK)
@click.option(
    "--format",
    "forms",
    multiple=True,
    help=f"Format to write in. Repeatable.  [default: the first {FORMATS} of Carrara's]",
)
@click.option(
    "--topic", "about", multiple=True, help=f"Topic to write about. Repeatable.  [default: {TOPICS} of Carrara's]"
)
@click.option("--tone", "tone_names", multiple=True, help="Tone to write in. Repeatable.  [default: none]")
@click.option(
    "--texts", type=click.IntRange(1), default=8, show_default=True, help="Texts for each format, topic and tone."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the grammars; not used with --endpoint.")
@click.option(
    "--endpoint",
    envvar="CARRARA_ENDPOINT",
    help="Base URL of a server, or set CARRARA_ENDPOINT.  [default: Carrara's grammars]",
)
@click.option("--model", envvar="CARRARA_MODEL", help="Name of the model on the server, or set CARRARA_MODEL.")
@KEY_FILE
@click.option(
    "--workers", type=click.IntRange(1, 1024), default=4, show_default=True, help="Requests in flight at a time."
)
@click.option(
    "--timeout", type=Number(1, 86400), default=120.0, show_default=True, help="Seconds to wait for each try."
)
@click.option("--tries", type=click.IntRange(1), default=6, show_default=True, help="Tries per request.")
@click.option(
    "--max-tokens", type=click.IntRange(1), help="Limit to send with each request.  [default: the server's own]"
)
def write(
    *,
    corpus: Path,
    forms: Sequence[str],
    about: Sequence[str],
    tone_names: Sequence[str],
    texts: int,
    seed: int,
    endpoint: str | None,
    model: str | None,
    key_file: Path | None,
    workers: int,
    timeout: float,
    tries: int,
    max_tokens: int | None,
) -> None:
    """Write texts for mrcr to the file CORPUS (.jsonl); if it is `-`, print texts by the grammars for reading.

    With --endpoint, every reply is kept in CORPUS.replies, so an interrupted run continues where it stopped. To build
    from the corpus, use `carrara build RECIPE --corpus CORPUS`.
    """
    labels = _labels(forms, about, tone_names)
    if str(corpus) != "-" and corpus.suffix.lower() != ".jsonl":
        raise RecipeError(f"CORPUS is {str(corpus)!r}: give a file name ending in .jsonl, or - to print")
    if not endpoint:
        _by_grammars(corpus, labels, texts, seed)
        return
    if not model:
        raise RecipeError("--endpoint without a model: give --model or set CARRARA_MODEL")
    if str(corpus) == "-":
        raise RecipeError("CORPUS is '-', but replies of an endpoint are kept beside a file: give a file name")
    options = {"max_tokens": max_tokens} if max_tokens else {}
    _by_model(corpus, labels, texts, Endpoint(endpoint, model, api_key(key_file), timeout, tries, options), workers)


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
    wishes = [Wish(each.format, each.topic, each.tone, n, request(each)) for n in range(texts) for each in labels]
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
    with written_aside(corpus) as aside, aside.open("w", encoding="utf-8") as file:
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
