"""The card, from its template."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import Any

import jinja2

from pipeline.errors import RecipeError
from pipeline.publish.card import tables
from pipeline.publish.card.cited import papers_of
from pipeline.publish.card.evaluation import evaluated
from pipeline.publish.card.examples import examples_of
from pipeline.publish.card.facts import Facts
from pipeline.publish.card.front import front_of, lists_of, yaml_of
from pipeline.recipe import SIZES, digest, load_recipe, shipped_recipes
from pipeline.tasks import NOTES

FENCED = re.compile(r"^(`{3,})\w*\n.*?^\1\n", re.MULTILINE | re.DOTALL)
BLANK = re.compile(r"\n{3,}")
"""Empty lines that a template leaves where nothing was filled in."""


@lru_cache(maxsize=1)
def _pages() -> jinja2.Environment:
    # Nothing is escaped: what is filled in is Markdown, of our own making or inside code.
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
"""The templates of the card and of the pages that it links to, by their files."""


def card_of(facts: Facts) -> str:
    """Return the card of a published split: README.md."""
    return pages_of(facts)["README.md"]


def pages_of(facts: Facts) -> dict[str, str]:
    """Return the card of a published split and the pages beside it, by the names of their files."""
    said = _said(facts)
    pages = {name: _page(template, facts, **said) for name, template in PAGES.items()}
    if facts.notes.text:
        pages["CHANGES.md"] = _page("changes.md.jinja", facts, **said)
    return pages


def keys_card_of(facts: Facts) -> str:
    """Return the card of the keys of a split whose rows are published without them."""
    head = {"license": "apache-2.0", "language": ["en"], "pretty_name": f"{facts.title}, keys", "viewer": False}
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


def _said(facts: Facts) -> dict[str, Any]:
    """Return what the card's template says beside the facts."""
    plain = plain_config(facts)
    return {
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
    """Return the family with most rows in the shortest tier."""
    rows = Counter[str]()
    for cell in facts.strata(facts.tiers[0]):
        rows[cell.family] += cell.rows
    return max(facts.families[facts.tiers[0]], key=lambda family: rows[family])


def plain_config(facts: Facts) -> str:
    """Return a configuration of the shortest tier whose rows have all the same room for the reply, or the first."""
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
    """Return the shipped recipes that made the tiers; none if one of them is the maintainer's own."""
    if facts.withheld:
        return []
    blocks = {str(cell.blocks) for made in facts.manifest.tiers.values() for cell in made.strata if cell.blocks}
    digests: dict[str, str] = {}
    for size, name in product((*SIZES, *sorted(blocks - {"1"})), shipped_recipes()):
        with suppress(RecipeError):  # another recipe may be too large in this size
            digests.setdefault(digest(load_recipe(name).sized(size)), name + _as_option(size))
    made = [digests.get(facts.manifest.tiers[tier].recipe_digest or "", "") for tier in facts.tiers]
    return made if all(made) else []


def _as_option(size: str) -> str:
    return "" if size == SIZES[0] else f" --size {size}"
