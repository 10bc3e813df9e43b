"""Rerank: rank documents by what they are worth for a question (HELMET, section 2.1 and appendix B.3)."""

from pipeline.tasks.rerank.task import Conditions, Order

NOTES = """\
Documents about an invented land, each with a number of five digits; the numbers of the ten best are asked, the best
first. `conditions` names three conditions: a document has a point for each one that it meets. `order` asks for the ten
longest, oldest or largest of the things that meet one condition. All documents that are worth anything are written for
the row, and so are decoys: they name what is asked in other roles, in twice as many documents as it meets a condition
in. Filler is worth nothing. Replies are scored by NDCG at 10; documents of one grade may stand in any order.
"""

TASKS = (Conditions(), Order())
