"""What the agent can do: calls that change something, each with what its result can say."""

from __future__ import annotations

from pipeline.worlds.desk.calls import Act

SIGNS = {"receive": 1, "return": 1, "issue": -1, "scrap": -1}
MOVED = {
    "receive": "{} booked in as",
    "return": "{} put back to",
    "issue": "{} taken off",
    "scrap": "{} written off from",
}
NOUNS = {"receive": "receipt", "return": "return", "issue": "issue", "scrap": "write-off"}


def move(item: str, verb: str, quantity: int, reason: str) -> Act:
    """Change the amount of an item: the result has the change, never the total."""
    args: dict[str, str | int] = {"action": verb, "item": item, "qty": quantity, "reason": reason}
    fields = (("item", item), ("delta", SIGNS[verb] * quantity), ("reason", reason))
    summary = f"{MOVED[verb].format(quantity)} {item} ({reason})"
    return Act("stock", args, "posted", fields, summary, f"{NOUNS[verb]} of {quantity} x {item}", item)


def assign(ticket: str, person: str) -> Act:
    """Give a ticket to somebody."""
    args: dict[str, str | int] = {"action": "assign", "ticket": ticket, "to": person}
    fields = (("ticket", ticket), ("assignee", person))
    return Act(
        "tickets", args, "assigned", fields, f"{ticket} to {person}", f"assignment of {ticket} to {person}", ticket
    )


def take_back(ticket: str) -> Act:
    """Undo the last standing assignment of a ticket: the result does not say whose it is then."""
    args: dict[str, str | int] = {"action": "undo", "target": ticket}
    fields = (("target", ticket), ("scope", "last assignment"))
    summary = f"last standing assignment of {ticket}"
    return Act("undo", args, "reverted", fields, summary, f"undo of the last assignment of {ticket}", ticket)


def redo(ticket: str) -> Act:
    """Restore the assignment of a ticket that was undone last."""
    args: dict[str, str | int] = {"action": "redo", "target": ticket}
    fields = (("target", ticket), ("scope", "assignment undone last"))
    summary = f"assignment of {ticket} that was undone last"
    return Act("undo", args, "restored", fields, summary, f"redo of the assignment of {ticket}", ticket)


def reverse(ref: str) -> Act:
    """Undo a call by the code of its result."""
    args: dict[str, str | int] = {"action": "undo", "target": ref}
    return Act("undo", args, "reverted", (("entries", 1),), "1 entry", "undo of 1 entry", "the journal")


def commit(batch: str) -> Act:
    """Let all that was staged in a batch take effect."""
    fields = (("batch", batch), ("applied", 1))
    return Act("commit", {"batch": batch}, "committed", fields, batch, f"commit of {batch}", batch)


def set_value(path: str, key: str, value: int) -> Act:
    """Set a key of a settings file."""
    args: dict[str, str | int] = {"action": "set", "file": path, "key": key, "value": value}
    fields = (("file", path), ("key", key), ("value", value))
    return Act("settings", args, "saved", fields, f"{key} = {value} in {path}", f"{key} = {value} in {path}", path)


def copy_value(source: str, target: str, key: str) -> Act:
    """Copy a key from one settings file to another: the result does not have its value."""
    args: dict[str, str | int] = {"action": "copy", "from": source, "key": key, "to": target}
    fields = (("key", key), ("from", source), ("to", target))
    summary = f"{key} from {source} to {target}"
    return Act("settings", args, "copied", fields, summary, f"copy of {key} from {source} to {target}", target)


def reinstall(host: str, image: str) -> Act:
    """Do one step of a plan: a host gets a new image."""
    args: dict[str, str | int] = {"action": "reinstall", "host": host, "image": image}
    fields = (("host", host), ("image", image))
    return Act("hosts", args, "completed", fields, f"{host} runs {image}", f"reinstall of {host} with {image}", host)


def roll_back(host: str) -> Act:
    """Take back a step of a plan: a host gets its old image again."""
    args: dict[str, str | int] = {"action": "rollback", "host": host}
    fields = (("host", host), ("scope", "last reinstall"))
    return Act("hosts", args, "restored", fields, f"{host} has its previous image", f"rollback of {host}", host)


def book(room: str, day: str, time: str, person: str) -> Act:
    """Book a room."""
    args: dict[str, str | int] = {"action": "book", "day": day, "for": person, "from": time, "room": room}
    fields = (("room", room), ("day", day), ("from", time), ("for", person))
    summary = f"{room} on {day} from {time} for {person}"
    return Act("bookings", args, "booked", fields, summary, f"booking of {room} on {day}", room)


def send(person: str, subject: str) -> Act:
    """Send a mail."""
    args: dict[str, str | int] = {"action": "send", "subject": subject, "to": person}
    fields = (("to", person), ("subject", subject))
    return Act("mail", args, "sent", fields, f'"{subject}" to {person}', f'mail "{subject}" to {person}', "the outbox")


def note(text: str, number: int) -> Act:
    """Write something down: how the agent acknowledges what the user says."""
    return Act("note", {"text": text}, "kept", (("note", number),), f"note {number}", f"note {number}", "the notebook")
