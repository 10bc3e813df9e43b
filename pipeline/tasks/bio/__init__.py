"""LongBioBench's biographies: one world of people, asked in several ways."""

from pipeline.tasks.bio import association, calculation, citation, essay, icl, idk, multihop, rank, standard, twodiff
from pipeline.tasks.bio import standard as multi
from pipeline.tasks.bio.register import InRegister

NOTES = """\
Six-sentence biographies of invented people; the question is about one or a few of them, and no two people share a full
name. Except in `-essay`, the haystack is more biographies, so form does not give needles away. Attributes, places and
orders are balanced. A marked final answer counts; without one, each scorer has a rule. `idk` comes in pairs, and both
rows must be right. Where `standard` names a language, its text is a list of employees in that language.
"""

FORMS = {"standard": InRegister}

TASKS = (
    *standard.TASKS,
    *multi.MULTI_TASKS,
    *multihop.TASKS,
    *icl.TASKS,
    *citation.TASKS,
    *idk.TASKS,
    *calculation.TASKS,
    *rank.TASKS,
    *twodiff.TASKS,
    *association.TASKS,
    *essay.TASKS,
)

__all__ = ["FORMS", "NOTES", "TASKS"]
