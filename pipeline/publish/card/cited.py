"""The papers that families follow, as the Hub links them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper on arXiv, and the families that follow it."""

    arxiv: str
    title: str
    families: tuple[str, ...]


PAPERS = (
    Paper(
        "2409.12640",
        "Michelangelo: Long Context Evaluations Beyond Haystacks via Latent Structure Queries",
        ("latent_list", "mrcr", "idk"),
    ),
    Paper("2506.02921", "A Controllable Examination for Long-Context Language Models", ("bio",)),
    Paper(
        "2410.02694",
        "HELMET: How to Evaluate Long-Context Language Models Effectively and Thoroughly",
        ("recall", "rag", "cite", "rerank", "icl", "longqa", "summ"),
    ),
    Paper("2404.06654", "RULER: What's the Real Context Size of Your Long-Context Language Models?", ("recall",)),
    Paper("2511.02817", "Oolong: Evaluating Long Context Reasoning and Aggregation Capabilities", ("tally",)),
)


def papers_of(families: Iterable[str]) -> list[Paper]:
    """Return the papers that some families follow, each with those families alone."""
    known = set(families)
    found = [replace(paper, families=tuple(name for name in paper.families if name in known)) for paper in PAPERS]
    return [paper for paper in found if paper.families]
