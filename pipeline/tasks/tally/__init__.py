"""Counting messages by what they ask, who received them and when (OOLONG, Bertsch et al. 2025)."""

from pipeline.tasks.tally.register import CountInRegister, MostInRegister, UsersInRegister, in_register
from pipeline.tasks.tally.task import Count, Users, When
from pipeline.tasks.tally.weigh import Compare, Most

NOTES = """\
A year of messages from customers, one per line, each with its day and the number of the clerk who received it, in
random order. What a message asks for is not stated (unless the knob `stated` is set) but must be inferred. `count` asks
how many messages of one kind a clerk received, `when` in which month the nth of them came, `users` which clerks
received messages of two kinds; `most` asks which act is asked for most often, `compare` which of two pairs of acts is.
In the first three every counted line is proven necessary, and every prompt has decoys, equally many at any length: the
clerk's other messages, other clerks' messages of that kind, and messages that only mention what is asked for. In `most`
and `compare` the answer leads by a tenth or more in every prompt, though words alone, or a part of the text, may not
show it. Where a task names a language, the text is a register in that language: `count` asks how many entries have one
label and one district, `most` in which district a label is most frequent, `users` which amounts come with two labels.
"""

KINDS = ((Count(), CountInRegister), (Most(), MostInRegister), (Users(), UsersInRegister))
FORMS = {plain.subtask: in_register(plain, kind) for plain, kind in KINDS}
TASKS = (Count(), Most(), Compare(), When(), Users())
