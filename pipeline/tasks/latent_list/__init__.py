"""Latent List (Michelangelo, section 2.1): what is left of a list after many operations, most of which cancel out."""

from pipeline.tasks.latent_list.task import LatentList, in_language

NOTES = """\
A program starts with `a = [1, 2, 3, 4, 5, 6]` and changes the list line by line; the last line reads it. Most lines
change nothing that lasts: `print("Do nothing.")`, pairs of `reverse`, blocks that cancel out on any list. A few
operations matter, spread over the program, and without any one of them the answer changes or the program fails. Two
demonstrations. Score: exact for `print`, else `1 - min(1, |t - g| / |t|)`. A cue remains: a sort cannot be undone, so
every `sort` is relevant.
"""

TASKS = (
    LatentList("print", "a slice of the list that a program leaves, as Python prints it"),
    LatentList("sum", "the sum of a slice of the list that a program leaves"),
    LatentList("min", "the smallest value of a slice of the list that a program leaves"),
    LatentList("max", "the largest value of a slice of the list that a program leaves"),
    LatentList("len", "the length of the list that a program leaves"),
)
FORMS = {task.subtask: in_language(task) for task in TASKS}
