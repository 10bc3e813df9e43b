"""Questions about invented repositories: what code does and returns, what calls it, and how it changed."""

from pipeline.tasks.code.call import Call
from pipeline.tasks.code.callers import Callers
from pipeline.tasks.code.changed import Changed
from pipeline.tasks.code.find import Find

NOTES = """\
Files of small Python packages made for this set: modules that import one another, with functions over numbers, lists,
texts and dictionaries; or the log of a repository with its changes. Several modules have functions of the same name,
and only imports tell which is meant. Carrara's own interpreter works out the answers. Every file and commit that is
marked as relevant is proven necessary.
"""

TASKS = (Find(), Call(), Callers(), Changed())
"""All tasks of the family."""
