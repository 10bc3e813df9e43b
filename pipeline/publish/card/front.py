"""The YAML in front of a card, and the little of YAML that it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.publish.card.facts import Facts

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
"""Strings that need no quotes, but for the words below."""

WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def front_of(facts: Facts) -> dict[str, Any]:
    """Return what the Hub reads of a card."""
    names = facts.all_families
    choices = ["multiple-choice"] if "idk" in names else []
    return {
        "license": "other" if facts.own_corpus else "apache-2.0",
        **({"license_name": "see-card", "license_link": "SOURCES.md"} if facts.own_corpus else {}),
        "language": ["en"],
        "pretty_name": facts.title,
        "tags": [
            "long-context", "benchmark", "evaluation", "synthetic", facts.manifest["release"], facts.split.tokenizer,
            *(name.replace("_", "-") for name in names),
        ],
        "task_categories": ["question-answering", "text-generation", *choices],
        "size_categories": [facts.size],
        "configs": [
            {
                "config_name": config.name,
                **({"default": True} if config.default else {}),
                "data_files": [{"split": "test", "path": config.path}],
            }
            for config in facts.configs
        ],
    }  # fmt: skip


def yaml_of(value: Mapping[str, Any]) -> str:
    """Return plain values as YAML: mappings, lists of mappings or scalars, strings, numbers, truth.

    >>> print(yaml_of({"a": ["32k", True], "b": [{"c": "no", "d": 1}]}), end="")
    a:
    - "32k"
    - true
    b:
    - c: "no"
      d: 1
    """
    return "".join(f"{line}\n" for line in _mapping(value))


def _mapping(value: Mapping[str, Any]) -> Iterator[str]:
    for name, inside in value.items():
        if isinstance(inside, Mapping):
            yield f"{_scalar(name)}:"
            yield from (f"  {line}" for line in _mapping(inside))
        elif isinstance(inside, list | tuple):
            yield f"{_scalar(name)}:" if inside else f"{_scalar(name)}: []"
            yield from _list(inside)
        else:
            yield f"{_scalar(name)}: {_scalar(inside)}"


def _list(items: Sequence[Any]) -> Iterator[str]:
    for item in items:
        lines = list(_mapping(item)) if isinstance(item, Mapping) else [_scalar(item)]
        yield from (f"{'  ' if at else '- '}{line}" for at, line in enumerate(lines))


def _scalar(value: object) -> str:
    plain = isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS
    return str(value) if plain else json.dumps(value)
