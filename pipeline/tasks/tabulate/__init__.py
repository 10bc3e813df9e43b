"""Long replies: tables of 16 to 256 rows, each of which is judged (LongProc, Ye et al. 2025, section 2)."""

from pipeline.tasks.tabulate.echo import Echo
from pipeline.tasks.tabulate.notes import Extract, Sort
from pipeline.tasks.tabulate.register import in_register
from pipeline.tasks.tabulate.rewrite import Rewrite
from pipeline.tasks.tabulate.rewrite_asked import asked_in

NOTES = """\
Tables to be written from the text: buildings of one kind in one region, from notes on many; the lines of one host, from
a log of many, rewritten by stated rules. The notes also have as many buildings of the kind in other regions, and of
other kinds in the region; the log has as many lines of similar hosts, and lines that quote the host. The room for the
reply grows with the rows: 512, 2,048 and 8,192 tokens for 16, 64 and 256. Where a subtask names a language, its text is
a register in that language, and the question is about one label and one district; in `rewrite`, only the rules and the
question are in it. `echo` asks for a copy of one line among notes: one word many times, and in one place one that
differs. Half of its score is for the place of that word, half for the number of words.
"""

FORMS = {plain.subtask: in_register(plain) for plain in (Extract(), Sort())} | {"rewrite": asked_in(Rewrite())}
TASKS = (Extract(), Sort(), Rewrite(), Echo())
"""All tasks of the family."""
