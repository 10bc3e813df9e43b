"""The YAML in front of a card."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pipeline.errors import StageError, adding
from pipeline.publish.card.facts import Facts

LINE = 1 << 16
"""Characters of a line: none is folded."""


def front_of(facts: Facts) -> dict[str, Any]:
    """Return what the Hub reads of a card."""
    names = facts.all_families
    choices = ["multiple-choice"] if "idk" in names else []
    return {
        "license": "other" if facts.own_corpus else "apache-2.0",
        **({"license_name": _slug(facts.licence), "license_link": "SOURCES.md"} if facts.own_corpus else {}),
        "language": ["en"],
        "pretty_name": facts.title,
        "task_categories": ["question-answering", "text-generation", *choices],
        "size_categories": [facts.size],
    }  # fmt: skip


def lists_of(facts: Facts) -> str:
    """Return tags, and configurations one on each line: written out they would be the longest part of a card."""
    tags = (
        *("long-context", "benchmark", "evaluation", "synthetic", facts.manifest.release, facts.split.tokenizer),
        *(name.replace("_", "-") for name in facts.all_families),
    )
    told = (
        {
            "config_name": config.name,
            **({"default": True} if config.default else {}),
            "data_files": [{"split": "test", "path": config.path}],
        }
        for config in facts.configs
    )
    return f"tags: {json.dumps(tags)}\nconfigs:\n" + "".join(f"- {json.dumps(config)}\n" for config in told)


def _slug(licence: str) -> str:
    """Return a licence as the Hub names one of its maintainer's own."""
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
