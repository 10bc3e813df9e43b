"""The registry of scorers, and scoring with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from pipeline.metrics.choices import CHOICE_OR_REFUSAL_SCORER, CHOICE_SCORER
from pipeline.metrics.echo import ECHO_SCORER
from pipeline.metrics.labels import LABEL_SCORER
from pipeline.metrics.numbers import COUNT_SCORER, LAST_INTEGER_SCORER, LATENT_LIST_SCORER
from pipeline.metrics.parts import ALL_IN_ORDER_SCORER, CITATION_SCORER, PAIR_SCORER
from pipeline.metrics.published import MRCR_SCORER
from pipeline.metrics.rankings import NDCG_SCORER
from pipeline.metrics.scorer import Row, Rule, Scorer
from pipeline.metrics.scripts import PLAIN_SCORER
from pipeline.metrics.sets import MEMBERS_SCORER, ROUTE_SCORER
from pipeline.metrics.sources import CITED_SCORER
from pipeline.metrics.summaries import KEY_POINTS_SCORER
from pipeline.metrics.tables import ROWS_SCORER
from pipeline.metrics.values import EXACT_SCORER, IDK_PAIR_SCORER


def judge(row: Row, prediction: object, scorers: Mapping[str, Rule] | None = None) -> float | None:
    """Return the score of a reply to a row, from 0 to 1; None if it has no form that can be judged, or is no text.

    `scorers` is what `scorers_of` returns; by default, `SCORERS`. The docstring of each rule says what it can judge.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    rule = (SCORERS if scorers is None else scorers)[row["scorer"]]
    return rule(row, prediction) if isinstance(prediction, str) else None


def score(row: Row, prediction: object, scorers: Mapping[str, Rule] | None = None) -> float:
    """Return the score of a reply to a row, from 0 to 1; 0 where `judge` returns None.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    return judge(row, prediction, scorers) or 0.0


def figures(row: Row, prediction: object, scorers: Mapping[str, Rule] | None = None) -> dict[str, float]:
    """Return the figures behind the score of a reply, by name; empty if its scorer has none."""
    names = facts(row["scorer"]).figures
    rule: Callable[..., float | None] = (scorers_of(()) if scorers is None else scorers)[row["scorer"]]
    return {name: score(row, prediction, {row["scorer"]: partial(rule, figure=name)}) for name in names}


SCORERS: dict[str, Scorer] = {
    "mrcr": MRCR_SCORER,
    "latent_list": LATENT_LIST_SCORER,
    "exact": EXACT_SCORER,
    "choice_or_refusal": CHOICE_OR_REFUSAL_SCORER,
    "citation": CITATION_SCORER,
    "idk_pair": IDK_PAIR_SCORER,
    "all_in_order": ALL_IN_ORDER_SCORER,
    "last_integer": LAST_INTEGER_SCORER,
    "pair": PAIR_SCORER,
    "members": MEMBERS_SCORER,
    "route": ROUTE_SCORER,
    "label": LABEL_SCORER,
    "cited": CITED_SCORER,
    "ndcg": NDCG_SCORER,
    "count": COUNT_SCORER,
    "choice": CHOICE_SCORER,
    "key_points": KEY_POINTS_SCORER,
    "rows": ROWS_SCORER,
    "echo": ECHO_SCORER,
    "plain": PLAIN_SCORER,
}
"""Every scorer, by its name in rows."""


def _unknown(row: Row, prediction: str) -> float:
    raise KeyError(row["scorer"])


UNKNOWN = Scorer(_unknown, 0, "", ungraded="this version does not know its scorer", stops=False)


def facts(scorer: str) -> Scorer:
    """Return a scorer by name; `UNKNOWN` for one that this version does not know."""
    return SCORERS.get(scorer, UNKNOWN)


def scorers_of(quirks: Iterable[str]) -> dict[str, Rule]:
    """Return the scorers with quirks like ``mrcr=starts`` applied; several quirks of one scorer add up.

    Raises:
        ValueError: for an unknown quirk, listing the known ones.
    """
    chosen: dict[str, Rule] = {name: scorer.rule for name, scorer in SCORERS.items()}
    for quirk in quirks:
        name, _, value = quirk.partition("=")
        if value not in facts(name).quirks:
            known = ", ".join(f"{other}={each}" for other, scorer in SCORERS.items() for each in scorer.quirks)
            raise ValueError(f"unknown quirk {quirk!r} (known: {known})")
        rule = SCORERS[name].quirks[value]
        chosen[name] = partial(chosen[name], **rule) if isinstance(rule, Mapping) else rule
    return chosen


def versions(rows: Iterable[Row]) -> dict[str, int]:
    """Return the versions of the scorers of some rows, by name."""
    return {name: facts(name).version for name in sorted({str(row["scorer"]) for row in rows})}
