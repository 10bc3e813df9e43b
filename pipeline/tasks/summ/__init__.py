"""Summ: summaries of what befell a property (HELMET, section 2.1: summarization), graded by key points."""

from pipeline.tasks.summ.task import Points

NOTES = """\
Summaries of people's dealings with a property, from the annals of an invented town. A key point is a person and a year;
the score is F1, and recall, precision and the share of points with the number of an entry that states them are also
given. The key decides, without a model: **how well a summary reads is not judged**, nor is what it says of a person
besides the year. `carrara score --judge-records FILE` writes what a judge of your own would need.
"""

TASKS = (Points(),)
