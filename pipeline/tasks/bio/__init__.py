"""LongBioBench's biographies: one world of people, asked in several ways."""

from pipeline.tasks.bio import association, calculation, citation, essay, icl, idk, multihop, rank, standard, twodiff
from pipeline.tasks.bio import standard as multi
from pipeline.tasks.bio.register import InRegister

NOTES = """\
Biographies of six sentences, each about another invented person of one world; the question is about one or a few of
them, and no two people share a name. The haystack is other people of the same kind, so that the needle is no tell.
Attributes, places and orders are dealt in equal shares. Scores take a marked final answer or the last line; `idk` comes
in pairs, to be passed together. Where `standard` names a language, its text is a register of employees in it.
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
