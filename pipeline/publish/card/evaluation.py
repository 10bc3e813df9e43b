"""eval.yaml: what Hugging Face's own runner (inspect-ai) can grade as metrics.py does.

Its scorers know one answer, by a pattern, and no partial score; its tasks are whole configurations. That leaves `idk`,
whose replies are letters. The pattern takes the last letter that stands as one, and nothing that metrics.py refuses for
it; what it leaves out is a choice or a refusal in words.
"""

from __future__ import annotations

from typing import Any

from pipeline.metrics import facts as scorer_facts
from pipeline.publish.card.facts import Facts
from pipeline.publish.card.front import yaml_of
from pipeline.tasks import TASKS


def evaluated(facts: Facts) -> list[dict[str, Any]]:
    """Return the tasks of eval.yaml; none where answers are withheld or prompts are not sent as chat."""
    if facts.withheld or facts.manifest.frame != "chat":
        return []
    return [
        _task(facts, family, tier, pattern)
        for tier, families in facts.families.items()
        for family in families
        if (pattern := _pattern(facts, family, tier))
    ]


def _pattern(facts: Facts, family: str, tier: str) -> str:
    """Return the pattern that agrees with the one scorer of all rows of a configuration; empty if there is none."""
    subtasks = {cell.subtask for cell in facts.strata(tier) if cell.family == family}
    scorers = {TASKS[family, subtask].scorer if (family, subtask) in TASKS else "" for subtask in subtasks}
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
    """Return the text of eval.yaml, or nothing if it would hold no task."""
    tasks = evaluated(facts)
    head = {
        "name": facts.title,
        "description": "Long-context questions at exact lengths; a choice among four options, of which one refuses.",
        "evaluation_framework": "inspect-ai",
    }
    return yaml_of({**head, "tasks": tasks}) if tasks else ""
