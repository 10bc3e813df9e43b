"""LongBioBench's biographies: one world of people, asked in several ways."""

from pipeline.tasks.bio import calculation, citation, essay, icl, idk, multi, multihop, rank, standard, twodiff

TASKS = (
    *standard.TASKS,
    *multi.TASKS,
    *multihop.TASKS,
    *icl.TASKS,
    *citation.TASKS,
    *idk.TASKS,
    *calculation.TASKS,
    *rank.TASKS,
    *twodiff.TASKS,
    *essay.TASKS,
)

__all__ = ["TASKS"]
