"""Graphs as lists of edges: nodes at a distance, parents, routes (OpenAI, GraphWalks; LongProc, path traversal)."""

from pipeline.tasks.graph.task import Bfs, Parents, Route, in_language

NOTES = """\
A directed graph as a list of edges in random order, one per line, nodes named by ten hexadecimal digits. `bfs` asks for
all nodes whose shortest distance from a node is exactly 1, 2, 4 or 8; `parents` for all nodes with an edge to a node,
1, 4 or 16 of them, or none if a recipe says so; `route` for the nodes on the only route from a node, in order, 4 to 512
steps. Without any one of the relevant edges the answer changes. In `bfs`, decoys are the other edges out of the same
nodes: they lead back to visited nodes, or to dead ends, so a model that forgets where it has been gives wrong nodes.
The rest of the graph is woven into the relevant part, and nodes of the answer have as many edges as others.
"""

TASKS = (Bfs(), Parents(), Route())
FORMS = {task.subtask: in_language(task) for task in TASKS}
