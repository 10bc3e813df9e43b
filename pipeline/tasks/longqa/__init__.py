"""Questions about the annals of a town (HELMET, section 2.1: long-document question answering)."""

from pipeline.tasks.longqa.choice import Choice
from pipeline.tasks.longqa.kin import Kin
from pipeline.tasks.longqa.pairs import Unanswerable
from pipeline.tasks.longqa.register import OwnerInRegister
from pipeline.tasks.longqa.state import State
from pipeline.tasks.longqa.turns import ChatTurns
from pipeline.tasks.longqa.when import When

NOTES = """\
Questions about the annals of an invented town over fifty years, entry by entry in order of date. Ownership follows from
sales that stand, are set aside and are restored; another property with a similar name has as long a history. Everything
is invented, so nothing can be known beforehand; annals are entries, not a novel. Where `state` names a language, its
text lists, in that language, sales of plots, which are cancelled and reinstated by number.
"""

FORMS = {State.subtask: OwnerInRegister}
TASKS = (State(), Kin(), When(), Choice(), Unanswerable(), ChatTurns())
