"""The effect of calls: the state of the firm's things after some calls, by rules that a prompt states."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.worlds.desk.acts import SIGNS
from pipeline.worlds.desk.calls import Act

Cell = tuple[str, str]


@dataclass(slots=True)
class State:
    """Amounts as standing changes, holders of tickets as stacks, and cells of files with their values' origins."""

    changes: dict[str, tuple[str, int]] = field(default_factory=dict)
    """For each standing call that changed an amount, by the code of its result: the item and the change."""
    holders: dict[str, list[str]] = field(default_factory=dict)
    undone: dict[str, list[str]] = field(default_factory=dict)
    cells: dict[Cell, tuple[int, str]] = field(default_factory=dict)
    """The value of each cell, and the code of the result of the call that set it."""
    installed: dict[str, str] = field(default_factory=dict)
    staged: dict[str, list[tuple[Act, str]]] = field(default_factory=dict)

    def amount(self, item: str) -> int:
        """Return by how much the amount of an item has changed."""
        return sum(change for other, change in self.changes.values() if other == item)

    def holder(self, ticket: str) -> str:
        """Return whose a ticket is; empty if no assignment stands."""
        return (self.holders.get(ticket) or [""])[-1]


def apply(state: State, act: Act, ref: str) -> None:
    """Apply a call that did what it asked; `ref` is the code of its result.

    Raises:
        ValueError: if there is nothing to undo, redo, commit or copy.
    """
    args, action = act.args, str(act.args.get("action", act.tool))
    if "batch" in args and act.tool != "commit":
        state.staged.setdefault(str(args["batch"]), []).append((act, ref))
    elif act.tool == "stock":
        state.changes[ref] = str(args["item"]), SIGNS[action] * int(args["qty"])
    elif act.tool == "tickets":
        state.holders.setdefault(str(args["ticket"]), []).append(str(args["to"]))
        state.undone[str(args["ticket"])] = []
    elif act.tool == "undo":
        _undo(state, action, str(args["target"]))
    elif act.tool == "settings" and action == "set":
        state.cells[str(args["file"]), str(args["key"])] = int(args["value"]), ref
    elif act.tool == "settings":
        source = str(args["from"]), str(args["key"])
        if source not in state.cells:
            raise ValueError(f"there is no {source} to copy")
        state.cells[str(args["to"]), str(args["key"])] = state.cells[source]
    elif act.tool == "hosts":
        state.installed[str(args["host"])] = str(args.get("image", "")) if action == "reinstall" else ""
    elif act.tool == "commit":
        if args["batch"] not in state.staged:
            raise ValueError(f"there is no {args['batch']} to commit")
        for staged, code in state.staged.pop(str(args["batch"])):
            left = {name: value for name, value in staged.args.items() if name not in ("batch", "mode")}
            apply(state, staged.with_args(left), code)


def _undo(state: State, action: str, target: str) -> None:
    if target in state.changes:
        del state.changes[target]
        return
    standing, undone = state.holders.setdefault(target, []), state.undone.setdefault(target, [])
    source, goal = (standing, undone) if action == "undo" else (undone, standing)
    if not source:
        raise ValueError(f"there is nothing to {action} of {target}")
    goal.append(source.pop())
