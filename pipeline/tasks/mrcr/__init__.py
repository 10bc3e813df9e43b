"""Michelangelo's multi-round coreference resolution: give back the n-th reply to a request among many like it."""

from pipeline.tasks.mrcr.task import TASKS

NOTES = """\
A long conversation of requests ("Write a poem about penguins.") and replies. Two, four or eight replies match the
request; half of the other turns share its format or its topic, up to 64 of them at every length. The model must repeat
the n-th one, after a code of twelve characters. Score: difflib's ratio of the text after the code, 0 without the code.
`n_needles` and `desired_msg_index` in `metadata` mean what they mean in openai/mrcr; where keys are withheld, so are
both.
"""

__all__ = ["NOTES", "TASKS"]
