"""The command that writes a corpus: by the grammars, or by any OpenAI-compatible endpoint."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from itertools import cycle, islice
from pathlib import Path

import click

from pipeline.asking import Wish, ask_corpus
from pipeline.cli.base import cli
from pipeline.endpoint import Endpoint
from pipeline.errors import RecipeError, unknown
from pipeline.progress import meter
from pipeline.shards import written_aside
from pipeline.streams import Streams
from pipeline.tasks.mrcr.text import request
from pipeline.worlds.writing.library import CELL, Label, written
from pipeline.worlds.writing.sources import formats, tones
from pipeline.worlds.writing.topics import topics

FORMATS, TOPICS = 8, 12
"""How many formats and topics are written about where none are named."""


@cli.command()
@click.argument("corpus", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "forms", multiple=True, help=f"May be repeated.  [default: the first {FORMATS} of Carrara's]")
@click.option("--topic", "about", multiple=True, help=f"May be repeated.  [default: {TOPICS} of Carrara's]")
@click.option("--tone", "tone_names", multiple=True, help="May be repeated.  [default: none is asked for]")
@click.option("--texts", type=click.IntRange(1), default=8, show_default=True, help="Of each format, topic and tone.")
@click.option("--seed", default=0, show_default=True, help="Of what the grammars write.")
@click.option("--endpoint", envvar="CARRARA_ENDPOINT", help="http(s)://host/v1; CARRARA_ENDPOINT. Grammars if none.")
@click.option("--model", envvar="CARRARA_MODEL", help="Model to ask; CARRARA_MODEL.")
@click.option(
    "--key", envvar=["CARRARA_API_KEY", "OPENAI_API_KEY"], default="", help="CARRARA_API_KEY, OPENAI_API_KEY."
)
@click.option("--workers", type=click.IntRange(1), default=4, show_default=True, help="Requests at a time.")
@click.option("--timeout", type=click.FloatRange(1), default=120.0, show_default=True, help="Seconds for one try.")
@click.option("--tries", type=click.IntRange(1), default=6, show_default=True, help="Tries of one request.")
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
    key: str,
    workers: int,
    timeout: float,
    tries: int,
) -> None:
    """Write a CORPUS (.jsonl) of texts for mrcr; `-` prints the grammars' texts for reading.

    With an endpoint every reply is kept in CORPUS.replies, and the same command goes on where it stopped. Build from
    it with `carrara build RECIPE --corpus CORPUS`.
    """
    labels = _labels(forms, about, tone_names)
    if not endpoint:
        _by_grammars(corpus, labels, texts, seed)
        return
    if not model:
        raise RecipeError("--endpoint without a model: give --model or set CARRARA_MODEL")
    if str(corpus) == "-":
        raise RecipeError("CORPUS is '-' and an endpoint is given: name a file, replies are kept beside it")
    asked = Endpoint(endpoint, model, key, timeout, tries)
    wishes = [Wish(each.format, each.topic, each.tone, n, request(each)) for n in range(texts) for each in labels]
    with meter("ask", len(wishes), quiet=False) as shown:
        new = ask_corpus(asked, wishes, corpus, workers=workers, told=lambda passed: shown.advance(passed, 0))
    click.echo(f"{corpus}: {len(wishes)} texts, {new} of them new; every reply is in {corpus}.replies")


def _labels(forms: Sequence[str], about: Sequence[str], tone_names: Sequence[str]) -> list[Label]:
    every = [topic.name for topic in topics()]
    about = about or every[:: max(1, len(every) // TOPICS)][:TOPICS]
    forms = forms or tuple(formats())[:FORMATS]
    return [Label(form, topic, tone) for form in forms for topic in about for tone in tone_names or ("",)]


def _by_grammars(corpus: Path, labels: Sequence[Label], texts: int, seed: int) -> None:
    for label in labels:
        _check("format", label.format, formats())
        _check("topic", label.topic, [topic.name for topic in topics()])
        _check("tone", label.tone, ("", *tones()))
    if str(corpus) == "-":
        click.echo("\n\n".join(f"=== {request(label)}\n{text}" for label, text in _written(labels, texts, seed)))
        return
    with written_aside(corpus) as aside, aside.open("w", encoding="utf-8") as file:
        for label, text in _written(labels, texts, seed):
            record = {"format": label.format, "topic": label.topic, "tone": label.tone, "text": text}
            file.write(json.dumps(record) + "\n")
    click.echo(f"{corpus}: {len(labels) * texts} texts, written by the grammars")


def _check(kind: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise RecipeError(unknown(kind, name, get_close_matches(name, known, n=12, cutoff=0.0)))


def _written(labels: Sequence[Label], texts: int, seed: int) -> Iterator[tuple[Label, str]]:
    for label in labels:
        for text in written(Streams((seed, "write")), label, islice(cycle(CELL), texts)):
            yield label, text
