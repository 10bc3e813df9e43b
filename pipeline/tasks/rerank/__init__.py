"""Rerank: rank documents by what they are worth for a question (HELMET, section 2.1 and appendix B.3)."""

from pipeline.tasks.rerank.task import Conditions, Order

NOTES = """\
Documents about an invented land, each with a number of five digits; the ten best are asked for, best first.
`conditions` names three conditions: a document earns a point for each that it meets. `order` asks for the ten longest,
oldest or largest of the things that meet one condition. Documents with points are written for the row, and so are
decoys. In `conditions`, at least twice as many documents name what is asked for in another role as meet the condition.
Filler earns nothing. Replies are scored by NDCG at 10; documents of one grade may stand in any order.
"""

TASKS = (Conditions(), Order())
