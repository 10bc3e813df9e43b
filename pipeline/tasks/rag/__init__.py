"""Rag: answer questions from retrieved documents (HELMET, section 2.1 and appendix B.1)."""

from pipeline.tasks.rag.task import Bridge, Compare, Described, Listed, Single

NOTES = """\
Questions about an invented land, over short documents that a search for the question has put together: of some 24,000
in the longest tier, the nearest ones by their words. Decoys are written for each row, as many at every length. In
long prompts most documents have few words in common with the question: lexically near ones run out.
"""

TASKS = (Single(), Described(), Bridge(), Compare(), Listed())
