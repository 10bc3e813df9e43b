"""Counting messages by what they ask, who received them and when (OOLONG, Bertsch et al. 2025)."""

from pipeline.tasks.tally.register import CountInRegister, MostInRegister, UsersInRegister, in_register
from pipeline.tasks.tally.task import Count, Users, When
from pipeline.tasks.tally.weigh import Compare, Most

NOTES = """\
A year of messages from customers, one a line, each with its day and the number of the clerk who received it, in random
order. What a message asks is nowhere stated (unless the knob `stated` says so) and has to be read from it. `count` asks
how many messages of one kind a clerk received, `when` in which month the last of a number of them came, `users` which
clerks received messages of two kinds; `most` and `compare` ask which act is asked for most often in all messages, or
more often of two. In the first three every counted line is proven necessary, and decoys stand in every prompt, as
many at every length: the clerk's other messages, other clerks' messages of that kind, and messages that only mention
what is asked. In `most` and `compare` the answer leads by a tenth or more in every packed prompt, though not by its
words, and not in every part of the text. Where a task names a language, the text is a register in it: `count` asks how
many entries have one label and one district, `most` in which district a label is most frequent, `users` which amounts
come with two labels.
"""

KINDS = ((Count(), CountInRegister), (Most(), MostInRegister), (Users(), UsersInRegister))
FORMS = {plain.subtask: in_register(plain, kind) for plain, kind in KINDS}
TASKS = (Count(), Most(), Compare(), When(), Users())
