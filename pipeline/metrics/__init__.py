r"""Scores replies with the standard library only.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

``python metrics.py PREDICTIONS KEYS [--json] [--quirk mrcr=starts]`` prints mean scores by family, subtask and length,
and the headline of all rows (see `headline`). PREDICTIONS is JSON Lines with ``id`` and ``prediction``; KEYS is JSON
Lines of rows, or a Parquet file or a folder of them (which needs pyarrow). A row scores 0 if it has no prediction or
two different ones; both rows of a pair must be right. Exit code 2 means that something was missing or wrong; stderr
lists it.

Most scorers find the answer in a reply like this; the docstrings of the others say how they differ:

1. Drop what is not the reply: reasoning, as each family of models marks it (`OPENED`, `CHANNEL`; a mark without an
   end drops all that follows), tokens that end a turn and all that follows them, further questions that a base model
   asks itself (`STOPS`), and the markup of Markdown, LaTeX, XML and JSON.
2. If answers are marked (``\boxed{...}``, ``the answer is ...``, ``Answer: ...``, ``Output: ...``), the last mark
   counts. The answer is the first sentence after it that gives a value.
3. Without a mark, the first sentence that gives a value is the answer if it can be one as it stands: a bare value, or
   a sentence that gives what is asked. Otherwise the last sentence that gives a value is the answer.

In either case the rest of the reply must not retract the answer (``or ...``, ``wait, ...``), and no other bare value
may be on a line of its own: a reply that lists values scores 0. Only sets, routes and rankings are scored on
everything that the final answer lists (see `members` and `ndcg`).
"""

from __future__ import annotations

from pipeline.metrics.command import main
from pipeline.metrics.dates import dated
from pipeline.metrics.forms import EMPTY_LIST, MEMBERS, NO_MEMBERS, listed
from pipeline.metrics.means import headline, pair_scores
from pipeline.metrics.numbers import closeness, last_integer, latent_list
from pipeline.metrics.parts import all_in_order, pair
from pipeline.metrics.published import mrcr, similarity
from pipeline.metrics.rankings import CUT, RANKED, TIED, ndcg, worth_of
from pipeline.metrics.registry import SCORERS, UNKNOWN, facts, figures, judge, score, scorers_of, versions
from pipeline.metrics.reply import END, MAX_REPLY_CHARACTERS, PART, STOPS, stops_of, without_reasoning
from pipeline.metrics.scorer import JUDGED, LETTERED, NUMBER, Row, Rule, Scorer
from pipeline.metrics.sources import FIGURES, NUMBERS, SOURCED, cited
from pipeline.metrics.summaries import points_of
from pipeline.metrics.text import NORMALISED, PUNCTUATION, REFUSAL, TOKEN, normalised
from pipeline.metrics.values import exact

__all__ = [
    "CUT",
    "EMPTY_LIST",
    "END",
    "FIGURES",
    "JUDGED",
    "LETTERED",
    "MAX_REPLY_CHARACTERS",
    "MEMBERS",
    "NORMALISED",
    "NO_MEMBERS",
    "NUMBER",
    "NUMBERS",
    "PART",
    "PUNCTUATION",
    "RANKED",
    "REFUSAL",
    "SCORERS",
    "SOURCED",
    "STOPS",
    "TIED",
    "TOKEN",
    "UNKNOWN",
    "Row",
    "Rule",
    "Scorer",
    "all_in_order",
    "cited",
    "closeness",
    "dated",
    "exact",
    "facts",
    "figures",
    "headline",
    "judge",
    "last_integer",
    "latent_list",
    "listed",
    "main",
    "mrcr",
    "ndcg",
    "normalised",
    "pair",
    "pair_scores",
    "points_of",
    "score",
    "scorers_of",
    "similarity",
    "stops_of",
    "versions",
    "without_reasoning",
    "worth_of",
]
