"""LongBioBench: its JSON files, with the biographies as a list, at the paths that its loader parses."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import ExportError
from pipeline.export.base import Export, Tally, Written
from pipeline.export.common import need_keys
from pipeline.export.wanted import parts
from pipeline.rows import Row
from pipeline.tasks.bio.text import QUESTIONS, SENTENCES

COLUMNS = (
    *("id", "family", "subtask", "tier", "length", "complexity", "prompt_tokens", "question", "question_start"),
    *("target", "needles", "metadata", "prompt"),
)
SKILLS = {
    "standard": "standard",
    "multi_standard": "standard",
    "paraphrase": "paraphrase",
    "pronoun": "pronoun",
    "calculation": "calculation",
    "rank": "rank",
    "multihop": "multihop",
}
"""Subtasks that its evaluator can grade, with its names for them."""

OTHER = "not bio"
UNGRADED = {
    "citation": "its loader numbers the biographies itself and cuts off their ends",
    "twodiff": "its evaluator only reads names and ages in its own wording",
    "idk": "its loader makes the rows without an answer itself, from `data_standard.json`",
    "icl": "it has no such skill",
    "association": "it has no such skill",
}
BODY = re.compile(r"^(?:Essays and b|B)iographies:\n", re.MULTILINE)
LEADS = {"rank": "The order is", "calculation": "The difference in years is"}
LEAD = "The answer is"
"""The beginning of the assistant's turn, after LongBioBench's own words."""


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``<tier>/<length, needles, density and positions>/data_<skill>.json``."""
    need_keys(split, "LongBio-Benchmark")
    tally, paths = Tally(), set()
    for row in split.rows(COLUMNS, selection):
        plain = row["subtask"].removesuffix("-essay")
        if row["family"] != "bio" or plain not in SKILLS:
            tally.leave(row, UNGRADED.get(plain, OTHER) if row["family"] == "bio" else OTHER)
            continue
        record = _record(row, plain)
        path = path_below(out, row["tier"], _folder(split, row, record), f"data_{SKILLS[plain]}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="ascii") as file:
            file.write((",\n" if path in paths else "[\n") + json.dumps(record))
        paths.add(path)
        tally.rows += 1
    for path in sorted(paths):
        with path.open("a", encoding="ascii") as file:
            file.write("\n]\n")
    return tally.written


def _folder(split: Split, row: Row, record: Row) -> str:
    """Return the name that its loader parses: model, length in K, needles, density, first and last place in percent."""
    knobs = json.loads(row["metadata"])["knobs"]
    essay = "-essay" if row["subtask"].endswith("-essay") else ""
    shown = "-2shot" if len(record["questions"]["NLG"]) > 1 else ""
    places = {"first": "0_0", "last": "100_100"}.get(str(knobs.get("depth")), "0_100")
    model = model_name(split) + essay + shown
    density = float(knobs.get("density", 1.0))
    return f"{model}_{row['length'] // 1024}k_{row['complexity']}_retrieval_density_{density}_position_{places}"


def model_name(split: Split) -> str:
    """Return the first part of a path, which must have no underscore."""
    return split.tokenizer.replace("_", "-")


def _record(row: Row, subtask: str) -> Row:
    start = body_start(row)
    lines = [f"{line}\n" for line in row["prompt"][start : row["question_start"]].split("\n")[:-1]]
    demos = [_demo(*each, subtask) for each in _demos(row["prompt"][row["question_start"] :])]
    return {
        "id": row["id"],
        "context": lines,
        "token_length": row["prompt_tokens"],
        "questions": {"NLG": [_asked(row, subtask, start, lines), *demos]},
    }


def body_start(row: Row) -> int:
    """Return where the haystack of a prompt begins, in characters.

    Raises:
        ExportError: if the prompt has no heading before it.
    """
    heading = BODY.search(row["prompt"])
    if heading is None:
        raise ExportError(
            f"{row['id']}: no line 'Biographies:' in the prompt: export this split with the version of Carrara "
            "that built it"
        )
    return heading.end()


def _asked(row: Row, subtask: str, start: int, lines: Sequence[str]) -> Row:
    """Return the question of a row, with the places of the needles that answer it."""
    needles = [each for each in row["needles"] if each["role"] == "relevant"]
    texts = [row["prompt"][each["char_start"] : each["char_end"]] for each in needles]
    order = sorted(range(len(texts)), key=lambda at: _place(row["question"], texts[at]))
    places = [row["prompt"].count("\n", start, needles[at]["char_start"]) for at in order]
    several = subtask == "multi_standard"
    asked = [line.partition(" ")[2] for line in row["question"].split("\n")] if several else [row["question"]]
    attributes, lead = _attributes(row, len(asked)), LEADS.get(subtask, LEAD)
    stated = (
        [
            _stated(lines[at], *each)
            for at, each in zip(places, zip(asked, attributes, parts(row), strict=True), strict=True)
        ]
        if SKILLS[subtask] == "standard"
        else [[0, len(lines[at])] for at in places]
    )
    return {
        "Question": _numbered(asked) if several else row["question"],
        "Question_prefix": _numbered([lead] * len(asked)) if several else lead,
        "Answer": _answer(row, subtask),
        "Property": attributes,
        "position_in_list": places,
        "position_in_bios": stated,
    }


def _place(question: str, text: str) -> int:
    """Return where a question names the person of a paragraph, or the question's length if it does not."""
    at = question.find(" ".join(text.split(" ", 3)[:3]))
    return at if at >= 0 else len(question)


def _attributes(row: Row, count: int) -> list[str]:
    latent = json.loads(row["metadata"])["latent"]
    return list(latent.get("attributes") or [latent["asked"]] * count)


def _stated(text: str, asked: str, attribute: str, value: str) -> list[int]:
    """Return the start and end of a biography's sentence about an attribute, including the space after it."""
    before, after = QUESTIONS[attribute].split("{name}")
    name = asked.removeprefix(before).removesuffix(after)
    sentence = SENTENCES[attribute].format(name=name, value=value)
    at = text.index(sentence)
    end = at + len(sentence)
    return [at, end + (text[end] == " ")]


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"Question{at}: {line}" for at, line in enumerate(lines, 1))


def _answer(row: Row, subtask: str) -> str | int | list[str]:
    if subtask == "calculation":
        return int(row["target"])
    return list(parts(row)) if subtask in ("multi_standard", "rank") else str(row["target"])


def _demos(tail: str) -> list[tuple[str, str]]:
    """Return the questions and replies of the demonstrations at the end of a prompt."""
    blocks = tail.split("\n\nQuestion: ")[1:-1]
    return [(question, reply) for question, _, reply in (block.partition("\nAnswer: ") for block in blocks)]


def _demo(question: str, reply: str, subtask: str) -> Row:
    """Return a demonstration for its loader, which lowercases the first letter of a rationale."""
    steps, _, final = reply.rpartition("\nFinal answer: ")
    return {
        "Question": question,
        "Question_prefix": LEADS.get(subtask, LEAD),
        "Answer": final if subtask in LEADS else [final],
        "Rationale": f"These are the steps: {steps}",
    }


EXPORT = Export(
    name="longbio",
    title="LongBioBench: its JSON files of biographies",
    harness="LongBio-Benchmark",
    write=write,
    values=lambda split, rows: {"model": model_name(split)},
    sampling="`scripts/config/params.yaml` sets `temperature` 0, `top_p` 0.95 and a `random_seed` of 2024, which "
    "greedy decoding ignores.",
    headline="LongBio-Benchmark has one accuracy per file, by its own rules and prompts. Its "
    "`inference_results.json`, scored by Carrara's rules beside its `data.json`, has a headline.",
)
