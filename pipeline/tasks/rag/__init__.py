"""Rag: answer questions from retrieved documents (HELMET, section 2.1 and appendix B.1)."""

from pipeline.tasks.rag.task import Bridge, Compare, Described, Listed, Single

NOTES = """\
Questions about an invented land, over short documents that a search returned: the closest, by their words, of some
24,000 in the longest tier. Decoys are written for each row, equally many at any length. In long prompts most documents
have few words in common with the question: close ones run out.
"""

TASKS = (Single(), Described(), Bridge(), Compare(), Listed())
