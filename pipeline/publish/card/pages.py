"""The card and its pages, from their templates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import Any

import jinja2

from pipeline.artifacts.parquet import read_rows
from pipeline.errors import RecipeError, StageError, adding
from pipeline.metrics import facts as scorer_facts
from pipeline.publish.card import tables
from pipeline.publish.card.tables import Facts, papers_of
from pipeline.recipe import SIZES, digest, load_recipe, shipped_recipes
from pipeline.rows import Row
from pipeline.tasks import NOTES, known_task
from pipeline.training.epochs import kept_for_evaluation

LINE = 1 << 16
"""Characters of a line of YAML: so many that none is folded."""


def front_of(facts: Facts) -> dict[str, Any]:
    """Return the metadata that the Hub reads from a card, except tags and configurations."""
    names = facts.all_families
    choices = ["multiple-choice"] if "idk" in names else []
    return {
        "license": "other" if facts.own_corpus else "apache-2.0",
        **({"license_name": _slug(facts.licence), "license_link": "ABOUT.md"} if facts.own_corpus else {}),
        "language": facts.languages,
        "pretty_name": facts.title,
        "task_categories": ["question-answering", "text-generation", *choices],
        "size_categories": [facts.size],
    }  # fmt: skip


def lists_of(facts: Facts) -> str:
    """Return tags and configurations as YAML, one on each line, since in block style they would dominate the card."""
    tags = (
        *("long-context", "benchmark", "evaluation", "synthetic", facts.manifest.release, facts.split.tokenizer),
        *(name.replace("_", "-") for name in facts.all_families),
    )
    configs = (
        {
            "config_name": config.name,
            **({"default": True} if config.default else {}),
            "data_files": [{"split": "test", "path": config.path}],
        }
        for config in facts.configs
    )
    return f"tags: {json.dumps(tags)}\nconfigs:\n" + "".join(f"- {json.dumps(config)}\n" for config in configs)


def _slug(licence: str) -> str:
    """Return a licence as a name for the Hub's `license_name`."""
    return re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-.") or "see-card"


def yaml_of(value: Mapping[str, Any]) -> str:
    """Return plain values as YAML.

    Raises:
        StageError: if PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as fault:
        raise StageError(f"PyYAML is not installed: {adding('hub')}") from fault
    text: str = yaml.safe_dump(dict(value), sort_keys=False, width=LINE)
    return text


HEAD_CHARACTERS, CONTEXT_CHARACTERS, NEEDLE_CHARACTERS, ANSWER_CHARACTERS = 420, 90, 420, 280
"""Characters shown of a prompt's start, on either side of a needle, from a needle's start on, and of an answer."""

WIDTH = 110
FOLDED = "\n[...]\n"


@dataclass(frozen=True, slots=True)
class Example:
    """A row as the card shows it; `target` is empty if answers are withheld."""

    row: Row
    prompt: str
    target: str


def examples_of(facts: Facts) -> dict[str, Example]:
    """Return the first row of each family, from the shortest tier that has it."""
    examples: dict[str, Example] = {}
    for path in facts.split.shards("data"):
        family = path.parts[-3]
        if family not in examples:
            examples[family] = _example(path, withheld=facts.withheld)
    return {family: examples[family] for family in facts.all_families}


def _example(path: Path, *, withheld: bool) -> Example:
    row = next(read_rows(path))
    if withheld:
        return Example(row, _wrapped(_shortened(row, [])), "")
    spans = [
        (needle["char_start"], needle["char_end"])
        for needle in row["needles"]
        if needle["role"] in ("relevant", "match")
    ]
    return Example(row, _wrapped(_shortened(row, spans[:1])), _wrapped(_cut(str(row["target"]), ANSWER_CHARACTERS)))


def _shortened(row: Row, spans: list[tuple[int, int]]) -> str:
    """Return the start of a prompt, the needles at `spans` with some context, and the question."""
    prompt, start = row["prompt"], row["question_start"]
    parts = [(0, min(HEAD_CHARACTERS, start))]
    for first, last in spans:
        parts.append(
            (max(0, first - CONTEXT_CHARACTERS), min(start, last + CONTEXT_CHARACTERS, first + NEEDLE_CHARACTERS))
        )
    parts.append((max(0, start - CONTEXT_CHARACTERS), len(prompt)))
    text, at = "", 0
    for first, last in parts:
        text += (FOLDED if first > at else "") + prompt[max(first, at) : max(last, at)]
        at = max(at, last)
    return text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " [...]"


def _wrapped(text: str) -> str:
    """Break long lines at spaces, since the Hub does not wrap code."""
    return "\n".join("\n".join(wrap(line, WIDTH, break_long_words=False) or [""]) for line in text.splitlines())


def evaluated(facts: Facts) -> list[dict[str, Any]]:
    """Return the tasks of eval.yaml; none if answers are withheld or prompts are not sent as chat."""
    if facts.withheld or facts.manifest.frame != "chat":
        return []
    return [
        _task(facts, family, tier, pattern)
        for tier, families in facts.families.items()
        for family in families
        if (pattern := _pattern(facts, family, tier))
    ]


def _pattern(facts: Facts, family: str, tier: str) -> str:
    """Return the pattern that agrees with the scorer of a configuration; "" if none does, or there are two scorers."""
    subtasks = {cell.subtask for cell in facts.strata(tier) if cell.family == family}
    scorers = {task.scorer if (task := known_task(family, subtask)) else "" for subtask in subtasks}
    return scorer_facts(scorers.pop()).pattern if len(scorers) == 1 else ""


def _task(facts: Facts, family: str, tier: str, pattern: str) -> dict[str, Any]:
    room = max(cell.max_new_tokens for cell in facts.strata(tier) if cell.family == family)
    return {
        "id": f"{family}_{tier}",
        "config": f"{family}_{tier}",
        "split": "test",
        "field_spec": {"input": "prompt", "target": "target", "metadata": ["id", "subtask", "length", "complexity"]},
        "solvers": [{"name": "generate", "args": {"max_tokens": room}}],
        "scorers": [{"name": "pattern", "args": {"pattern": pattern, "ignore_case": False}}],
    }


def evaluation_of(facts: Facts) -> str:
    """Return the text of eval.yaml, or "" if it would have no task."""
    tasks = evaluated(facts)
    head = {
        "name": facts.title,
        "description": "Long-context questions at exact lengths; four options, of which one is a refusal.",
        "evaluation_framework": "inspect-ai",
    }
    return yaml_of({**head, "tasks": tasks}) if tasks else ""


FENCED = re.compile(r"^(`{3,})\w*\n.*?^\1\n", re.MULTILINE | re.DOTALL)
BLANK = re.compile(r"\n{3,}")
"""Empty lines that a template leaves for empty values."""


@lru_cache(maxsize=1)
def _pages() -> jinja2.Environment:
    # Nothing is escaped: values are Markdown, either our own or inside code.
    loader = jinja2.FunctionLoader(_template)
    return jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _template(name: str) -> str | None:
    path = resources.files("pipeline.publish.card") / "templates" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


PAGES = {
    "README.md": "card.md.jinja",
    "TASKS.md": "tasks.md.jinja",
    "ROWS.md": "rows.md.jinja",
    "HARNESSES.md": "harnesses.md.jinja",
    "ABOUT.md": "about.md.jinja",
}
"""The templates of the card and the pages that it links to, by file name."""


def card_of(facts: Facts) -> str:
    """Return the card of a published split: README.md."""
    return pages_of(facts)["README.md"]


def pages_of(facts: Facts) -> dict[str, str]:
    """Return the card of a published split and its other pages, by file name."""
    values = _values_of(facts)
    pages = {name: _page(template, facts, **values) for name, template in PAGES.items()}
    if facts.notes.text:
        pages["CHANGES.md"] = _page("changes.md.jinja", facts, **values)
    return pages


def keys_card_of(facts: Facts) -> str:
    """Return the card of the keys that are published, or kept, apart from the rows."""
    head = {
        "license": "apache-2.0",
        "language": facts.languages,
        "pretty_name": f"{facts.title}, keys",
        "viewer": False,
    }
    files = [{"split": "test", "path": "keys/*/*/test-*.parquet"}]
    front = yaml_of({**head, "configs": [{"config_name": "keys", "default": True, "data_files": files}]})
    return _page("keys.md.jinja", facts, front=front)


def _page(name: str, facts: Facts, **more: Any) -> str:
    text = _pages().get_template(name).render(facts=facts, tables=tables, **more)
    at, parts = 0, []
    for fence in FENCED.finditer(text):
        parts += [BLANK.sub("\n\n", text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, BLANK.sub("\n\n", text[at:])])


def _values_of(facts: Facts) -> dict[str, Any]:
    """Return the variables of the card's template, besides `facts` and `tables`."""
    plain = plain_config(facts)
    names = dict.fromkeys((cell.family, cell.subtask) for cell in facts.split.strata)
    kept = [name for name in names if kept_for_evaluation(*name)]
    return {
        "kept": list(map(".".join, kept)),
        "streamed": list(dict.fromkeys(name[0] for name in names if name not in kept)),
        "front": yaml_of(front_of(facts)) + lists_of(facts),
        "papers": papers_of(facts.all_families),
        "examples": examples_of(facts),
        "notes": NOTES,
        "recipes": _recipes(facts),
        "evaluated": [task["id"] for task in evaluated(facts)],
        "reserve": any(made.reserve for made in facts.manifest.tiers.values()),
        "example_family": _example_family(facts),
        "example_config": f"{_example_family(facts)}_{facts.tiers[0]}",
        "window": max(cell.context_tokens for cell in facts.strata(facts.tiers[0])),
        "longest": max(cell.context_tokens for cell in facts.split.strata),
        "inspect": {"config": plain},
        "lm": _lm(facts, plain),
    }


def _example_family(facts: Facts) -> str:
    """Return the family with the most rows in the shortest tier."""
    rows = Counter[str]()
    for cell in facts.strata(facts.tiers[0]):
        rows[cell.family] += cell.rows
    return max(facts.families[facts.tiers[0]], key=lambda family: rows[family])


def plain_config(facts: Facts) -> str:
    """Return the configuration of the shortest tier with the fewest values of `max_new_tokens`, the first of equals."""
    tier = facts.tiers[0]
    rooms = {
        family: {cell.max_new_tokens for cell in facts.strata(tier) if cell.family == family}
        for family in facts.families[tier]
    }
    return f"{min(rooms, key=lambda family: len(rooms[family]))}_{tier}"


def _lm(facts: Facts, config: str) -> dict[str, Any]:
    family, _, tier = config.rpartition("_")
    own = [cell for cell in facts.strata(tier) if cell.family == family]
    return {
        "name": f"{facts.manifest.release}_{config}",
        "config": config,
        "room": own[0].max_new_tokens,
        "window": max(cell.context_tokens for cell in own),
    }


def _recipes(facts: Facts) -> list[str]:
    """Return the shipped recipes that made the tiers, with options; empty if a tier has another recipe."""
    if facts.withheld:
        return []
    blocks = {str(cell.blocks) for made in facts.manifest.tiers.values() for cell in made.strata if cell.blocks}
    digests = _digests((*SIZES, *sorted(blocks - {"1"})))
    made = [digests.get(facts.manifest.tiers[tier].recipe_digest or "", "") for tier in facts.tiers]
    return made if all(made) else []


@lru_cache(maxsize=8)
def _digests(sizes: tuple[str, ...]) -> dict[str, str]:
    """Return the shipped recipes with options, in some sizes, by their digests."""
    digests: dict[str, str] = {}
    for size, name in product(sizes, shipped_recipes()):
        with suppress(RecipeError):  # another recipe may be too large in this size
            digests.setdefault(digest(load_recipe(name).sized(size)), name + _as_option(size))
    return digests


def _as_option(size: str) -> str:
    return "" if size == SIZES[0] else f" --size {size}"
