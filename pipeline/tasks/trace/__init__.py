"""What an agent did, found and was told: questions about a long log of tool calls."""

from pipeline.tasks.trace.audit import Audit
from pipeline.tasks.trace.constraint import Constraint
from pipeline.tasks.trace.language import asked_in
from pipeline.tasks.trace.origin import WhichCall
from pipeline.tasks.trace.resume import Resume
from pipeline.tasks.trace.rows import Rows
from pipeline.tasks.trace.state import StateTask
from pipeline.tasks.trace.tools import as_tools

NOTES = """\
The log of an agent at the desk of an invented firm: calls of fourteen tools with their results (JSON, tables, listings,
logs, mails), and what the user said. Calls fail, are dry runs, or are staged, undone and redone; every result has its
own code. The answer follows from the calls that succeeded, each of which is proven necessary. Similar codes appear in
about as many calls as the right one.
"""

FORMS = {task.subtask: asked_in(task) for task in (StateTask(), Rows())}
PLAIN = (StateTask(), WhichCall(), Constraint(), Audit(), Resume(), Rows())
TASKS = (*PLAIN, *map(as_tools, PLAIN))
"""All tasks of the family."""
