"""What tools show: files, searches, tables, tickets, mails and the output of commands, in the forms of real tools.

No call can change what is shown here: fixed fields of a thing follow from its code, and all else is named once. So
results can come in any order, and any of them can be left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date
from statistics import fmean, pstdev
from typing import NamedTuple
from zlib import crc32

from pipeline.worlds.desk.calls import Pair, Teller, aligned
from pipeline.worlds.desk.lexicon import DAYS, MONTHS, Speaker, words

Args = dict[str, str | int]
AS_OF = date(2026, 7, 1)
"""The day on which a trace is set: its past is earlier, and rooms are booked for later days."""


class Shown(NamedTuple):
    """A call that reads, and the function that writes its result for a code."""

    tool: str
    args: Args
    text: Callable[[str], str]


def fixed(code: str, what: str, kinds: int) -> int:
    """Return a fixed property of a thing, by its code: the same wherever it is shown."""
    return crc32(f"{what}:{code}".encode()) % kinds


def _path(said: Speaker, *, ending: str = "md") -> str:
    return said.fill("{dir}/{stem}-{n4}-{tail}.") + ending


def listing(said: Speaker) -> Shown:
    """Return a folder as ``ls -l`` shows it."""
    folder, rng = said.fill("{dir}/{stem}-{n3}"), said.rng
    endings = ("csv", "pdf", "md", "xlsx")
    names = [said.fill("{stem}-{tail}-{n3}.") + rng.choice(endings) for _ in range(rng.randrange(3, 5))]
    owners, sizes = [said.slot("login") for _ in names], [rng.randrange(300, 90_000) for _ in names]
    wide = max(map(len, owners))
    lines = [
        f"-rw-r--r-- 1 {owner:<{wide}} staff {size:>5} {said.slot('day')} {said.slot('time')} {name}"
        for owner, size, name in zip(owners, sizes, sorted(names), strict=True)
    ]
    total = sum(-(-size // 4096) * 4 for size in sizes)
    return Shown(
        "shell",
        {"cmd": f"ls -l --time-style=long-iso {folder}"},
        lambda ref: "\n".join([f"total {total} # {ref}", *lines]),
    )


def tree(said: Speaker) -> Shown:
    """Return a folder as ``tree`` shows it."""
    folder = said.fill("{dir}/{stem}-{n3}")
    names = sorted(said.fill("{stem}-{n3}-{tail}.md") for _ in range(said.rng.randrange(3, 6)))
    lines = [*(f"|-- {name}" for name in names[:-1]), f"`-- {names[-1]}", f"0 directories, {len(names)} files"]
    return Shown("files", {"action": "tree", "path": folder}, lambda ref: "\n".join([f"{folder} [{ref}]", *lines]))


def page(said: Speaker) -> Shown:
    """Return a page of notes."""
    path, title = _path(said), said.sentence("subject")
    lines = [
        f"# {title}",
        f"## {said.pick('heading')}",
        *(f"- {said.sentence('line')}" for _ in range(said.rng.randrange(2, 5))),
    ]
    return Shown("files", {"action": "read", "path": path}, lambda ref: "\n".join([f"{path} (ref {ref})", *lines]))


def numbered(said: Speaker) -> Shown:
    """Return some lines of a file with their numbers."""
    path, first = _path(said, ending="txt"), said.rng.randrange(10, 900)
    lines = [said.sentence("line") for _ in range(said.rng.randrange(2, 5))]
    told = [f"{first + at:4}  {line}" for at, line in enumerate(lines)]
    args: Args = {"action": "read", "from_line": first, "path": path, "to_line": first + len(lines) - 1}
    return Shown("files", args, lambda ref: "\n".join([f"-- {path} -- {ref}", *told]))


def settings(said: Speaker) -> Shown:
    """Return a section of a settings file, with keys that no call changes."""
    path = _path(said, ending="conf")
    lines = [said.fill("{stem}_{unit}_{key} = {n2}") for _ in range(said.rng.randrange(3, 6))]
    return Shown(
        "files", {"action": "read", "path": path}, lambda ref: "\n".join([f"; {path}, read as {ref}", "[main]", *lines])
    )


def json_file(said: Speaker) -> Shown:
    """Return a JSON file."""
    path = _path(said, ending="json")
    told = {said.fill("{stem}_{n2}"): said.fill("{person}") for _ in range(2)} | {
        said.fill("{stem}_{tail}"): int(said.slot("n3")) for _ in range(2)
    }
    return Shown(
        "files",
        {"action": "read", "path": path},
        lambda ref: json.dumps({"ref": ref, "path": path, "content": told}, indent=1),
    )


def found(said: Speaker) -> Shown:
    """Return lines of files as ``grep -rn`` shows them: each has the word that was looked for."""
    slot = said.rng.choice(("supplier", "good", "site", "team"))
    word, folder = said.slot(slot), said.pick("dir")
    names = [said.fill("{stem}-{n4}-{tail}.md:{n2}") for _ in range(said.rng.randrange(2, 4))]
    lines = [f"{folder}/{name}:{_line_with(said, 'line', slot, word)}" for name in names]
    args: Args = {"cmd": f"grep -rn '{word}' {folder}"}
    return Shown("shell", args, lambda ref: "\n".join([f"# {ref}: {len(lines)} matches", *lines]))


def _line_with(said: Speaker, name: str, slot: str, word: str) -> str:
    """Return a sentence that has a word in a slot."""
    able = [one for one in said.desk.said[name] if "{" + slot + "}" in one]
    text = said.fill(said.rng.choice(able), {slot: word})
    return text[0].upper() + text[1:]


def hits(said: Speaker) -> Shown:
    """Return the hits of a search, as JSON."""
    slot = said.rng.choice(("supplier", "good", "site", "team"))
    word = said.slot(slot)
    some = [
        {
            "path": _path(said),
            "score": round(said.rng.uniform(0.3, 0.95), 2),
            "text": _line_with(said, "line", slot, word),
        }
        for _ in range(said.rng.randrange(2, 4))
    ]
    some.sort(key=lambda hit: -float(str(hit["score"])))
    return Shown("search", {"limit": len(some), "query": word}, lambda ref: json.dumps({"hits": some, "ref": ref}))


def results(said: Speaker) -> Shown:
    """Return the hits of a search in the mails, as a numbered list."""
    slot = said.rng.choice(("supplier", "site", "good"))
    word = said.slot(slot)
    lines = [
        f"{at + 1}. {said.slot('person')}, {said.slot('date')}: {_line_with(said, 'mailline', slot, word)}"
        for at in range(said.rng.randrange(2, 4))
    ]
    args: Args = {"in": "mail", "query": word}
    return Shown("search", args, lambda ref: "\n".join([f"{len(lines)} mails with '{word}' [{ref}]", *lines]))


def card(said: Speaker) -> Shown:
    """Return the fixed fields of a ticket."""
    family = said.rng.choice(said.desk.tickets)
    ticket = said.rng.choice(family)
    fields = ticket_fields(said, ticket)
    form = said.rng.randrange(3)

    def text(ref: str) -> str:
        if form == 0:
            return json.dumps({"ref": ref, "ticket": ticket, **dict(fields)})
        if form == 1:
            return "\n".join([f"{ticket} (ref {ref})", *(f"{name:<9} {value}" for name, value in fields)])
        return " | ".join([ref, ticket, *(str(value) for _, value in fields)])

    return Shown("tickets", {"action": "show", "ticket": ticket}, text)


def ticket_fields(said: Speaker, ticket: str) -> Sequence[tuple[str, str]]:
    """Return the fields of a ticket that never change."""
    staff, lists = said.desk.staff, words()
    return (
        ("opened_by", staff[fixed(ticket, "opened", len(staff))]),
        ("category", lists["category"][fixed(ticket, "category", len(lists["category"]))]),
        ("site", lists["site"][fixed(ticket, "site", len(lists["site"]))]),
    )


def thread(said: Speaker) -> Shown:
    """Return the comments on a ticket that no question is about."""
    number = f"TK-{said.slot('n4')}{said.rng.choice('XY')}"
    lines = [
        f"{said.slot('person')}, {day}: {said.sentence('remark')}" for day in in_order(said, said.rng.randrange(2, 4))
    ]
    title = said.sentence("fault")
    return Shown(
        "tickets",
        {"action": "comments", "ticket": number},
        lambda ref: "\n".join([f"{number} {title} [{ref}]", *lines]),
    )


def in_order(said: Speaker, count: int) -> Sequence[str]:
    """Draw dates, the earliest first."""
    return sorted((said.slot("date") for _ in range(count)), key=_of_year)


def _of_year(said: str) -> tuple[int, int]:
    day, month = said.split()
    return MONTHS.index(month), int(day)


def inbox(said: Speaker) -> Shown:
    """Return an inbox, the newest mail first."""
    days = sorted((said.slot("day") for _ in range(said.rng.randrange(3, 5))), reverse=True)
    rows = [(day, said.slot("person"), said.sentence("subject")) for day in days]
    table = aligned([("DATE", "FROM", "SUBJECT")], rows)
    return Shown(
        "mail",
        {"action": "list", "folder": f"{said.pick('stem')}-{said.slot('n3')}"},
        lambda ref: f"{len(rows)} unread, ref {ref}\n{table}",
    )


def message(said: Speaker) -> Shown:
    """Return a mail."""
    (sender, receiver), subject = said.fill("{person}\n{person}").split("\n"), said.sentence("subject")
    body = " ".join(said.sentence("mailline") for _ in range(said.rng.randrange(2, 4)))
    number = int(said.slot("n5"))
    head = [
        f"From: {sender}",
        f"To: {receiver}",
        f"Subject: {subject}",
        f"Date: {said.slot('day')} {said.slot('time')}",
    ]
    plain = said.rng.random() < 0.7

    def text(ref: str) -> str:
        if plain:
            return "\n".join([*head, f"X-Ref: {ref}", body])
        return json.dumps({"from": sender, "subject": subject, "body": body, "ref": ref})

    return Shown("mail", {"action": "read", "id": number}, text)


def journal(said: Speaker) -> Shown:
    """Return lines of a journal."""
    host, service, rng = _host(said), said.pick("service"), said.rng
    day, hour, minute, pid = said.slot("day"), rng.randrange(24), rng.randrange(50), said.slot("n4")
    lines = [
        f"{day}T{hour:02}:{minute + at:02}:{rng.randrange(60):02}+00:00 {host} {service}[{pid}]: "
        + said.pick(f"log_{service}")
        for at in range(rng.randrange(2, 5))
    ]
    args: Args = {"cmd": f"journalctl -u {service} --since {day} -n {len(lines)} -o short-iso", "on": host}
    return Shown("shell", args, lambda ref: "\n".join([*lines, f"exit 0 ({ref})"]))


def disks(said: Speaker) -> Shown:
    """Return what ``df -h`` shows."""
    rows = []
    for _ in range(said.rng.randrange(3, 5)):
        size, name = said.rng.randrange(20, 900), said.fill("{stem}-{n2}")
        used = said.rng.randrange(1, size)
        share = -(-100 * used // size)
        rows.append((f"/dev/{name}", f"{size}G", f"{used}G", f"{size - used}G", f"{share}%", f"/mnt/{name}"))
    table = aligned([("Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on")], rows)
    return Shown("shell", {"cmd": "df -h", "on": _host(said)}, lambda ref: f"exit 0, {ref}\n{table}")


COMMANDS = (
    "python3 /opt/rota/{stem}_{tail}.py -n {n2}",
    "bash /srv/exports/{stem}-{tail}.sh {n2}",
    "java -jar /opt/labels/{stem}-{tail}.jar -n {n2}",
    "rsync -a /srv/{stem}-{n2} /mnt/{tail}",
)
"""What people run on a host."""


def processes(said: Speaker) -> Shown:
    """Return what ``ps`` shows: the busiest process first."""
    shares = sorted((said.rng.uniform(0, 60) for _ in range(said.rng.randrange(3, 5))), reverse=True)
    rows = [
        (
            said.slot("login"),
            int(said.slot("n5")),
            f"{share:.1f}",
            f"{said.rng.uniform(0, 9):.1f}",
            said.fill(said.rng.choice(COMMANDS)),
        )
        for share in shares
    ]
    table = aligned([("USER", "PID", "%CPU", "%MEM", "COMMAND")], rows)
    return Shown(
        "shell",
        {"cmd": f"ps -eo user,pid,pcpu,pmem,args --sort=-pcpu | head -{len(rows) + 1}", "on": _host(said)},
        lambda ref: f"{table}\n({ref})",
    )


def unit_status(said: Speaker) -> Shown:
    """Return what ``systemctl status`` shows."""
    service, since = said.fill("{stem}-{tail}"), date.fromisoformat(said.slot("day"))
    clock, left = f"{said.slot('time')}:{said.rng.randrange(60):02} UTC", (AS_OF - since).days
    head = [
        f"* {service}.service - worker {said.slot('n2')} of {said.slot('team')}",
        f"     Loaded: loaded (/etc/systemd/system/{service}.service; enabled; preset: enabled)",
        f"     Active: active (running) since {DAYS[since.weekday()]} {since} {clock}; {left} days ago",
    ]
    tail = [
        f"   Main PID: {said.slot('n5')} ({service})",
        f"      Tasks: {said.slot('d')} (limit: {said.slot('n4')})",
        f"     Memory: {said.slot('n3')}.{said.slot('d')}M",
    ]
    return Shown(
        "shell",
        {"cmd": f"systemctl status {service}", "on": _host(said)},
        lambda ref: "\n".join([*head, f"       Docs: ticket:{ref}", *tail]),
    )


def ping(said: Speaker) -> Shown:
    """Return what ``ping`` shows."""
    host, times = _host(said), [said.rng.uniform(0.2, 40) for _ in range(3)]
    address = said.fill("10.{o}.{o}.{o}")
    lines = [f"64 bytes from {address}: icmp_seq={at + 1} ttl=64 time={each:.2f} ms" for at, each in enumerate(times)]
    last = [
        f"--- {host} ping statistics ---",
        f"3 packets transmitted, 3 received, 0% packet loss, time {said.rng.randrange(2001, 2012)}ms",
        f"rtt min/avg/max/mdev = {min(times):.2f}/{fmean(times):.2f}/{max(times):.2f}/{pstdev(times):.2f} ms",
    ]
    head = f"PING {host} ({address}) 56(84) bytes of data."
    return Shown("shell", {"cmd": f"ping -c 3 {host}"}, lambda ref: "\n".join([f"{head} # {ref}", *lines, *last]))


def history(said: Speaker) -> Shown:
    """Return what ``git log --oneline`` shows."""
    path = said.fill("{stem}/{tail}.py")
    lines = [f"{said.slot('hex')} {said.pick('commitline')}" for _ in range(said.rng.randrange(3, 6))]
    return Shown(
        "shell",
        {"cmd": f"git log --oneline -{len(lines)} {path}"},
        lambda ref: "\n".join([*lines, f"({ref}: {len(lines)} commits)"]),
    )


def changes(said: Speaker) -> Shown:
    """Return what ``git show --stat --oneline`` shows."""
    code, rng = said.slot("hex"), said.rng
    paths = sorted({said.fill("{stem}/{tail}_{n2}.py") for _ in range(rng.randrange(2, 4))})
    rows = [(path, rng.randrange(2, 24), rng.randrange(2, 12)) for path in paths]
    wide = max(map(len, paths))
    lines = [f" {path:<{wide}} | {more + less:>2} {'+' * more}{'-' * less}" for path, more, less in rows]
    added, removed = (sum(counts) for counts in zip(*(row[1:] for row in rows), strict=True))
    files = f"{len(rows)} file{'s' * (len(rows) > 1)} changed"
    last = f" {files}, {added} insertions(+), {removed} deletions(-)"
    head = f"{code} {said.pick('commitline')}"
    return Shown(
        "shell",
        {"cmd": f"git show --stat --oneline {code}"},
        lambda ref: "\n".join([f"{head} ({ref})", *lines, last]),
    )


def sums(said: Speaker) -> Shown:
    """Return checksums of files."""
    paths = [_path(said, ending="csv") for _ in range(said.rng.randrange(2, 4))]
    lines = [f"{said.rng.getrandbits(80):020x}  {path}" for path in paths]
    return Shown("shell", {"cmd": f"b2sum -l 80 {' '.join(paths)}"}, lambda ref: "\n".join([*lines, f"exit 0 ({ref})"]))


def person(said: Speaker) -> Shown:
    """Return the directory's entry of a person, which never changes."""
    name, lists = said.slot("person"), words()
    fields = {
        "role": lists["role"][fixed(name, "role", len(lists["role"]))],
        "team": lists["team"][fixed(name, "team", len(lists["team"]))],
        "site": lists["site"][fixed(name, "site", len(lists["site"]))],
        "phone": 2000 + fixed(name, "phone", 7000),
    }
    form = said.rng.randrange(3)

    def text(ref: str) -> str:
        if form == 0:
            return json.dumps({"name": name, **fields, "ref": ref})
        if form == 1:
            return f"{name}: {fields['role']}, {fields['team']}, {fields['site']}, extension {fields['phone']} [{ref}]"
        return "\n".join(
            [
                f"BEGIN:VCARD ({ref})",
                "VERSION:4.0",
                f"FN:{name}",
                f"TITLE:{fields['role']}",
                f"ORG:{fields['team']};{fields['site']}",
                f"TEL:{fields['phone']}",
                "END:VCARD",
            ]
        )

    return Shown("people", {"name": name}, text)


def calendar(said: Speaker) -> Shown:
    """Return the bookings of a room on a day."""
    room, day = said.slot("room"), said.slot("workday")
    start, lines = said.rng.randrange(7, 10), []
    for _ in range(said.rng.randrange(2, 5)):
        end = start + said.rng.randrange(1, 3)
        lines.append(f"{start:02}:00-{end:02}:00  {said.sentence('purpose')}, {said.slot('person')}")
        start = end + said.rng.randrange(2)
    return Shown(
        "bookings",
        {"action": "day", "day": day, "room": room},
        lambda ref: "\n".join([f"{room}, {day} ({ref})", *lines]),
    )


def free_rooms(said: Speaker) -> Shown:
    """Return the rooms that are free at some time, as JSON."""
    day, time = said.slot("workday"), said.slot("time")
    rooms = [{"room": said.slot("room"), "seats": said.rng.randrange(4, 30)} for _ in range(3)]
    return Shown(
        "bookings",
        {"action": "free", "day": day, "from": time},
        lambda ref: json.dumps({"day": day, "free": rooms, "ref": ref}),
    )


def inventory(said: Speaker) -> Shown:
    """Return some hosts of the list, with fields that no call changes."""
    hosts = dict.fromkeys(_host(said) for _ in range(said.rng.randrange(3, 5)))
    rows = [
        (host, f"r{fixed(host, 'rack', 40) + 1:02}", 4 << fixed(host, "cores", 4), 16 << fixed(host, "memory", 4))
        for host in hosts
    ]
    table = aligned([("HOST", "RACK", "CORES", "GB")], rows)
    args: Args = {"action": "list", "names": " ".join(hosts)}
    return Shown("hosts", args, lambda ref: f"{table}\nref {ref}, {len(rows)} hosts")


def host_card(said: Speaker) -> Shown:
    """Return the fields of a host that never change."""
    host = _host(said)
    told = {
        "host": host,
        "rack": f"r{fixed(host, 'rack', 40) + 1:02}",
        "cores": 4 << fixed(host, "cores", 4),
        "gb": 16 << fixed(host, "memory", 4),
    }
    return Shown("hosts", {"action": "show", "host": host}, lambda ref: json.dumps({"ref": ref, **told}))


def _host(said: Speaker) -> str:
    return said.rng.choice(said.rng.choice(said.desk.hosts))


def opening_of(item: str) -> int:
    """Return the amount of an item before the first call of a trace."""
    return 900 + fixed(item, "opening", 1500)


def good_of(item: str) -> str:
    """Return what an item is."""
    lists = words()["good"]
    return lists[fixed(item, "good", len(lists))]


def opening(item: str, form: int) -> Shown:
    """Return the record of an item: the opening amount, and other fields that never change."""
    lists, amount = words(), opening_of(item)
    good = good_of(item)
    supplier = lists["supplier"][fixed(item, "supplier", len(lists["supplier"]))]
    bin_code = f"{'ABCDEF'[fixed(item, 'aisle', 6)]}-{fixed(item, 'bin', 80) + 10}"

    def text(ref: str) -> str:
        if form == 0:
            return json.dumps(
                {"ref": ref, "item": item, "name": good, "bin": bin_code, "opening_qty": amount, "supplier": supplier}
            )
        if form == 1:
            return "\n".join(
                [f"{item} {good} [{ref}]", f"bin: {bin_code}", f"opening_qty: {amount}", f"supplier: {supplier}"]
            )
        if form == 2:
            return aligned([("ITEM", "NAME", "BIN", "OPENING_QTY")], [(item, good, bin_code, amount)]) + f"\nref {ref}"
        return f"{item}: {good} of {supplier}, bin {bin_code}, opening_qty {amount} ({ref})"

    return Shown("stock", {"action": "record", "item": item}, text)


OPENING_FORMS = 4
READS: Sequence[Callable[[Speaker], Shown]] = (
    *(listing, tree, page, numbered, settings, json_file, found, hits, results, card, thread, inbox, message),
    *(journal, disks, processes, unit_status, ping, history, changes, sums, person, calendar, free_rooms),
    *(inventory, host_card),
)


def read(teller: Teller, shown: Shown) -> Pair:
    """Return a call that reads, with its result."""
    return teller.read(shown.tool, shown.args, shown.text)
