"""IDK (Michelangelo): a detail of an invented story, which may not state it."""

from pipeline.tasks.idk.task import TASKS

NOTES = """\
A short invented story, a question about one of its details, and four options of which (D) is always "I don't know". In
70 of 100 rows the story does not say; both kinds of rows mention what is asked about, and some options as details of
other things, equally often. Always answering (D) scores 70%: read scores by class.
"""

__all__ = ["NOTES", "TASKS"]
