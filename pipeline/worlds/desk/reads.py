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

from pipeline.worlds.desk.calls import CallWriter, Pair, aligned
from pipeline.worlds.desk.lexicon import AS_OF, DAYS, MONTHS, VALUES, SentenceWriter, words

Args = dict[str, str | int]


class Shown(NamedTuple):
    """A call that reads, and the function that writes its result for a code."""

    tool: str
    args: Args
    text: Callable[[str], str]


def fixed(code: str, what: str, kinds: int) -> int:
    """Return a fixed property of a thing, by its code: the same wherever it is shown."""
    return crc32(f"{what}:{code}".encode()) % kinds


def _path(sentences: SentenceWriter, *, ending: str = "md") -> str:
    return sentences.fill("{dir}/{stem}-{n4}-{tail}.") + ending


def listing(sentences: SentenceWriter) -> Shown:
    """Return a folder as ``ls -l`` shows it."""
    folder, rng = sentences.fill("{dir}/{stem}-{n3}"), sentences.rng
    endings = ("csv", "pdf", "md", "xlsx")
    names = [sentences.fill("{stem}-{tail}-{n3}.") + rng.choice(endings) for _ in range(rng.randrange(3, 5))]
    owners, sizes = [sentences.slot("login") for _ in names], [rng.randrange(300, 90_000) for _ in names]
    wide = max(map(len, owners))
    lines = [
        f"-rw-r--r-- 1 {owner:<{wide}} staff {size:>5} {sentences.slot('day')} {sentences.slot('time')} {name}"
        for owner, size, name in zip(owners, sizes, sorted(names), strict=True)
    ]
    total = sum(-(-size // 4096) * 4 for size in sizes)
    return Shown(
        "shell",
        {"cmd": f"ls -l --time-style=long-iso {folder}"},
        lambda ref: "\n".join([f"total {total} # {ref}", *lines]),
    )


def tree(sentences: SentenceWriter) -> Shown:
    """Return a folder as ``tree`` shows it."""
    folder = sentences.fill("{dir}/{stem}-{n3}")
    names = sorted(sentences.fill("{stem}-{n3}-{tail}.md") for _ in range(sentences.rng.randrange(3, 6)))
    lines = [*(f"|-- {name}" for name in names[:-1]), f"`-- {names[-1]}", f"0 directories, {len(names)} files"]
    return Shown("files", {"action": "tree", "path": folder}, lambda ref: "\n".join([f"{folder} [{ref}]", *lines]))


def page(sentences: SentenceWriter) -> Shown:
    """Return a page of notes."""
    path, title = _path(sentences), sentences.sentence("subject")
    lines = [
        f"# {title}",
        f"## {sentences.pick('heading')}",
        *(f"- {line}" for line in sentences.several("line", sentences.rng.randrange(2, 5))),
    ]
    return Shown("files", {"action": "read", "path": path}, lambda ref: "\n".join([f"{path} (ref {ref})", *lines]))


def numbered(sentences: SentenceWriter) -> Shown:
    """Return some lines of a file with their numbers."""
    path, first = _path(sentences, ending="txt"), sentences.rng.randrange(10, 900)
    lines = sentences.several("line", sentences.rng.randrange(2, 5))
    rows = [f"{first + at:4}  {line}" for at, line in enumerate(lines)]
    args: Args = {"action": "read", "from_line": first, "path": path, "to_line": first + len(lines) - 1}
    return Shown("files", args, lambda ref: "\n".join([f"-- {path} -- {ref}", *rows]))


def settings(sentences: SentenceWriter) -> Shown:
    """Return a section of a settings file, with keys that no call changes."""
    path = _path(sentences, ending="conf")
    keys = [sentences.slot("key") for _ in range(sentences.rng.randrange(3, 6))]
    lines = [sentences.fill(f"{{stem}}_{{unit}}_{key} = {sentences.rng.choice(VALUES[key])}") for key in keys]
    return Shown(
        "files", {"action": "read", "path": path}, lambda ref: "\n".join([f"; {path}, read as {ref}", "[main]", *lines])
    )


def json_file(sentences: SentenceWriter) -> Shown:
    """Return a JSON file."""
    path = _path(sentences, ending="json")
    content = {sentences.fill("{stem}_{n2}"): sentences.fill("{person}") for _ in range(2)} | {
        sentences.fill("{stem}_{tail}"): int(sentences.slot("n3")) for _ in range(2)
    }
    return Shown(
        "files",
        {"action": "read", "path": path},
        lambda ref: json.dumps({"ref": ref, "path": path, "content": content}, indent=1),
    )


def matches(sentences: SentenceWriter) -> Shown:
    """Return lines of files as ``grep -rn`` shows them: each has the word that was looked for."""
    slot = sentences.rng.choice(("supplier", "good", "site", "team"))
    word, folder = sentences.slot(slot), sentences.pick("dir")
    said = sentences.several("line", sentences.rng.randrange(2, 4), {slot: word})
    lines = [f"{folder}/{sentences.fill('{stem}-{n4}-{tail}.md:{n2}')}:{line}" for line in said]
    args: Args = {"cmd": f"grep -rn '{word}' {folder}"}
    return Shown("shell", args, lambda ref: "\n".join([f"# {ref}: {len(lines)} matches", *lines]))


def hits(sentences: SentenceWriter) -> Shown:
    """Return the hits of a search, as JSON."""
    slot = sentences.rng.choice(("supplier", "good", "site", "team"))
    word = sentences.slot(slot)
    results = [
        {"path": _path(sentences), "score": round(sentences.rng.uniform(0.3, 0.95), 2), "text": line}
        for line in sentences.several("line", sentences.rng.randrange(2, 4), {slot: word})
    ]
    results.sort(key=lambda hit: -float(str(hit["score"])))
    return Shown(
        "search", {"limit": len(results), "query": word}, lambda ref: json.dumps({"hits": results, "ref": ref})
    )


def results(sentences: SentenceWriter) -> Shown:
    """Return the hits of a search in the mails, as a numbered list."""
    slot = sentences.rng.choice(("supplier", "site", "good"))
    word = sentences.slot(slot)
    lines = [
        f"{at}. {sentences.slot('person')}, {sentences.slot('date')}: {line}"
        for at, line in enumerate(sentences.several("mailline", sentences.rng.randrange(2, 4), {slot: word}), start=1)
    ]
    args: Args = {"in": "mail", "query": word}
    return Shown("search", args, lambda ref: "\n".join([f"{len(lines)} mails with '{word}' [{ref}]", *lines]))


def card(sentences: SentenceWriter) -> Shown:
    """Return the fixed fields of a ticket."""
    family = sentences.rng.choice(sentences.desk.tickets)
    ticket = sentences.rng.choice(family)
    fields = ticket_fields(sentences, ticket)
    form = sentences.form("ticket", 3)

    def text(ref: str) -> str:
        if form == 0:
            return json.dumps({"ref": ref, "ticket": ticket, **dict(fields)})
        if form == 1:
            return "\n".join([f"{ticket} (ref {ref})", *(f"{name:<9} {value}" for name, value in fields)])
        return " | ".join([ref, ticket, *(str(value) for _, value in fields)])

    return Shown("tickets", {"action": "show", "ticket": ticket}, text)


def ticket_fields(sentences: SentenceWriter, ticket: str) -> Sequence[tuple[str, str]]:
    """Return the fields of a ticket that never change."""
    staff, lists = sentences.desk.staff, words()
    return (
        ("opened_by", staff[fixed(ticket, "opened", len(staff))]),
        ("category", lists["category"][fixed(ticket, "category", len(lists["category"]))]),
        ("site", lists["site"][fixed(ticket, "site", len(lists["site"]))]),
    )


def thread(sentences: SentenceWriter) -> Shown:
    """Return the comments on a ticket that no question is about."""
    number = f"TK-{sentences.slot('n4')}{sentences.rng.choice('XY')}"
    remarks = sentences.several("remark", sentences.rng.randrange(2, 4))
    days = in_order(sentences, len(remarks))
    lines = [f"{sentences.slot('person')}, {day}: {one}" for day, one in zip(days, remarks, strict=True)]
    title = sentences.sentence("fault")
    return Shown(
        "tickets",
        {"action": "comments", "ticket": number},
        lambda ref: "\n".join([f"{number} {title} [{ref}]", *lines]),
    )


def in_order(sentences: SentenceWriter, count: int) -> Sequence[str]:
    """Draw past dates, the earliest first."""
    return sorted((sentences.slot("date") for _ in range(count)), key=_of_year)


def _of_year(day_and_month: str) -> tuple[int, int]:
    day, month = day_and_month.split()
    return MONTHS.index(month), int(day)


def inbox(sentences: SentenceWriter) -> Shown:
    """Return an inbox, the newest mail first."""
    days = sorted((sentences.slot("day") for _ in range(sentences.rng.randrange(3, 5))), reverse=True)
    rows = [(day, sentences.slot("person"), sentences.subject(day)) for day in days]
    table = aligned([("DATE", "FROM", "SUBJECT")], rows)
    return Shown(
        "mail",
        {"action": "list", "folder": f"{sentences.pick('stem')}-{sentences.slot('n3')}"},
        lambda ref: f"{len(rows)} unread, ref {ref}\n{table}",
    )


def message(sentences: SentenceWriter) -> Shown:
    """Return a mail."""
    (sender, receiver), day = sentences.fill("{person}\n{person}").split("\n"), sentences.slot("day")
    subject = sentences.subject(day)
    body = " ".join(sentences.several("mailline", sentences.rng.randrange(2, 4)))
    number = int(sentences.slot("n5"))
    head = [
        f"From: {sender}",
        f"To: {receiver}",
        f"Subject: {subject}",
        f"Date: {day} {sentences.slot('time')}",
    ]
    plain = sentences.rng.random() < 0.7

    def text(ref: str) -> str:
        if plain:
            return "\n".join([*head, f"X-Ref: {ref}", body])
        return json.dumps({"from": sender, "subject": subject, "body": body, "ref": ref})

    return Shown("mail", {"action": "read", "id": number}, text)


FORKING = ("cron", "sshd")
"""Services that write each line of their journal from another process."""


def journal(sentences: SentenceWriter) -> Shown:
    """Return lines of a journal."""
    host, service, rng = _host(sentences), sentences.pick("service"), sentences.rng
    day, hour, minute = sentences.slot("day"), rng.randrange(24), rng.randrange(50)
    logged = sentences.picks(f"log_{service}", rng.randrange(2, 5))
    pids = sorted(rng.sample(range(1000, 10_000), len(logged)))
    lines = [
        f"{day}T{hour:02}:{minute + at:02}:{rng.randrange(60):02}+00:00 {host} "
        f"{service}[{pids[at if service in FORKING else 0]}]: {line}"
        for at, line in enumerate(logged)
    ]
    args: Args = {"cmd": f"journalctl -u {service} --since {day} -o short-iso | head -{len(lines)}", "on": host}
    return Shown("shell", args, lambda ref: "\n".join([*lines, f"exit 0 ({ref})"]))


def disks(sentences: SentenceWriter) -> Shown:
    """Return what ``df -h`` shows."""
    rows = []
    for _ in range(sentences.rng.randrange(3, 5)):
        size, name = sentences.rng.randrange(20, 900), sentences.fill("{stem}-{n2}")
        used = sentences.rng.randrange(10, size - 9)  # df gives amounts below ten a decimal
        share = -(-100 * used // size)
        rows.append((f"/dev/{name}", f"{size}G", f"{used}G", f"{size - used}G", f"{share}%", f"/mnt/{name}"))
    table = aligned([("Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on")], rows)
    return Shown("shell", {"cmd": "df -h", "on": _host(sentences)}, lambda ref: f"exit 0, {ref}\n{table}")


COMMANDS = (
    "python3 /opt/rota/{stem}_{tail}.py -n {n2}",
    "bash /srv/exports/{stem}-{tail}.sh {n2}",
    "java -jar /opt/labels/{stem}-{tail}.jar -n {n2}",
    "rsync -a /srv/{stem}-{n2} /mnt/{tail}",
)
"""What people run on a host."""
PS_WIDTH = 8
"""How many letters of a user's name fit into a column of ``ps``."""


def processes(sentences: SentenceWriter) -> Shown:
    """Return what ``ps`` shows: the busiest process first."""
    shares = sorted((sentences.rng.uniform(0, 60) for _ in range(sentences.rng.randrange(3, 5))), reverse=True)
    rows = [
        (
            name if len(name) <= PS_WIDTH else f"{name[: PS_WIDTH - 1]}+",
            int(sentences.slot("n5")),
            f"{share:.1f}",
            f"{sentences.rng.uniform(0, 9):.1f}",
            sentences.fill(sentences.rng.choice(COMMANDS)),
        )
        for share, name in ((share, sentences.slot("login")) for share in shares)
    ]
    table = aligned([("USER", "PID", "%CPU", "%MEM", "COMMAND")], rows)
    return Shown(
        "shell",
        {"cmd": f"ps -eo user,pid,pcpu,pmem,args --sort=-pcpu | head -{len(rows) + 1}", "on": _host(sentences)},
        lambda ref: f"{table}\n({ref})",
    )


def unit_status(sentences: SentenceWriter) -> Shown:
    """Return what ``systemctl status`` shows."""
    service, since = sentences.fill("{stem}-{tail}"), date.fromisoformat(sentences.slot("day"))
    clock = f"{sentences.slot('time')}:{sentences.rng.randrange(60):02} UTC"
    head = [
        f"* {service}.service - worker {sentences.slot('n2')} of {sentences.slot('team')}",
        f"     Loaded: loaded (/etc/systemd/system/{service}.service; enabled; preset: enabled)",
        f"     Active: active (running) since {DAYS[since.weekday()]} {since} {clock}; {_ago((AS_OF - since).days)}",
    ]
    tail = [
        f"   Main PID: {sentences.slot('n5')} ({service})",
        f"      Tasks: {sentences.slot('d')} (limit: {sentences.slot('n4')})",
        f"     Memory: {sentences.slot('n3')}.{sentences.slot('d')}M",
    ]
    return Shown(
        "shell",
        {"cmd": f"systemctl status {service}", "on": _host(sentences)},
        lambda ref: "\n".join([*head, f"       Docs: ticket:{ref}", *tail]),
    )


def _ago(days: int) -> str:
    """Return how ``systemctl`` says that something was some days ago: its months have 30.4375 days."""
    months = int(days / 30.4375)
    weeks, left = (0, int(days - months * 30.4375)) if months else divmod(days, 7)
    parts = ((months, "month"), (weeks, "week"), (left, "day"))
    return " ".join(f"{count} {noun}{'s' * (count > 1)}" for count, noun in parts if count) + " ago"


def ping(sentences: SentenceWriter) -> Shown:
    """Return what ``ping`` shows."""
    host, times = _host(sentences), [sentences.rng.uniform(0.2, 40) for _ in range(3)]
    address = sentences.fill("10.{o}.{o}.{o}")
    lines = [f"64 bytes from {address}: icmp_seq={at + 1} ttl=64 time={each:#.3g} ms" for at, each in enumerate(times)]
    last = [
        f"--- {host} ping statistics ---",
        f"3 packets transmitted, 3 received, 0% packet loss, time {sentences.rng.randrange(2001, 2012)}ms",
        f"rtt min/avg/max/mdev = {min(times):.3f}/{fmean(times):.3f}/{max(times):.3f}/{pstdev(times):.3f} ms",
    ]
    head = f"PING {host} ({address}) 56(84) bytes of data."
    return Shown("shell", {"cmd": f"ping -c 3 {host}"}, lambda ref: "\n".join([f"{head} # {ref}", *lines, *last]))


def history(sentences: SentenceWriter) -> Shown:
    """Return what ``git log --oneline`` shows."""
    path = sentences.fill("{stem}/{tail}.py")
    subjects = sentences.picks("commitline", sentences.rng.randrange(3, 6))
    lines = [f"{sentences.slot('hex')} {subject}" for subject in subjects]
    return Shown(
        "shell",
        {"cmd": f"git log --oneline -{len(lines)} {path}"},
        lambda ref: "\n".join([*lines, f"({ref}: {len(lines)} commits)"]),
    )


def changes(sentences: SentenceWriter) -> Shown:
    """Return what ``git show --stat --oneline`` shows."""
    code, rng = sentences.slot("hex"), sentences.rng
    paths = sorted({sentences.fill("{stem}/{tail}_{n2}.py") for _ in range(rng.randrange(2, 4))})
    rows = [(path, rng.randrange(2, 24), rng.randrange(2, 12)) for path in paths]
    wide = max(map(len, paths))
    lines = [f" {path:<{wide}} | {more + less:>2} {'+' * more}{'-' * less}" for path, more, less in rows]
    added, removed = (sum(counts) for counts in zip(*(row[1:] for row in rows), strict=True))
    files = f"{len(rows)} file{'s' * (len(rows) > 1)} changed"
    last = f" {files}, {added} insertions(+), {removed} deletions(-)"
    head = f"{code} {sentences.pick('commitline')}"
    return Shown(
        "shell",
        {"cmd": f"git show --stat --oneline {code}"},
        lambda ref: "\n".join([f"{head} ({ref})", *lines, last]),
    )


def sums(sentences: SentenceWriter) -> Shown:
    """Return checksums of files."""
    paths = [_path(sentences, ending="csv") for _ in range(sentences.rng.randrange(2, 4))]
    lines = [f"{sentences.rng.getrandbits(80):020x}  {path}" for path in paths]
    return Shown("shell", {"cmd": f"b2sum -l 80 {' '.join(paths)}"}, lambda ref: "\n".join([*lines, f"exit 0 ({ref})"]))


def person(sentences: SentenceWriter) -> Shown:
    """Return the directory's entry of a person, which never changes."""
    name, lists = sentences.slot("person"), words()
    fields = {
        "role": lists["role"][fixed(name, "role", len(lists["role"]))],
        "team": lists["team"][fixed(name, "team", len(lists["team"]))],
        "site": lists["site"][fixed(name, "site", len(lists["site"]))],
        "phone": 2000 + fixed(name, "phone", 7000),
    }
    form = sentences.form("person", 3)

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


def calendar(sentences: SentenceWriter) -> Shown:
    """Return the bookings of a room on a day."""
    room, day = sentences.slot("room"), sentences.slot("workday")
    start, lines = sentences.rng.randrange(7, 10), []
    for _ in range(sentences.rng.randrange(2, 5)):
        end = start + sentences.rng.randrange(1, 3)
        lines.append(f"{start:02}:00-{end:02}:00  {sentences.sentence('purpose')}, {sentences.slot('person')}")
        start = end + sentences.rng.randrange(2)
    return Shown(
        "bookings",
        {"action": "day", "day": day, "room": room},
        lambda ref: "\n".join([f"{room}, {day} ({ref})", *lines]),
    )


def free_rooms(sentences: SentenceWriter) -> Shown:
    """Return the rooms that are free at some time, as JSON."""
    day, time = sentences.slot("workday"), sentences.slot("quarter")
    rooms = [{"room": sentences.slot("room"), "seats": sentences.rng.randrange(4, 30)} for _ in range(3)]
    return Shown(
        "bookings",
        {"action": "free", "day": day, "from": time},
        lambda ref: json.dumps({"day": day, "free": rooms, "ref": ref}),
    )


def inventory(sentences: SentenceWriter) -> Shown:
    """Return some hosts of the list, with fields that no call changes."""
    hosts = dict.fromkeys(_host(sentences) for _ in range(sentences.rng.randrange(3, 5)))
    rows = [
        (host, f"r{fixed(host, 'rack', 40) + 1:02}", 4 << fixed(host, "cores", 4), 16 << fixed(host, "memory", 4))
        for host in hosts
    ]
    table = aligned([("HOST", "RACK", "CORES", "GB")], rows)
    args: Args = {"action": "list", "names": " ".join(hosts)}
    return Shown("hosts", args, lambda ref: f"{table}\nref {ref}, {len(rows)} hosts")


def host_card(sentences: SentenceWriter) -> Shown:
    """Return the fields of a host that never change."""
    host = _host(sentences)
    card = {
        "host": host,
        "rack": f"r{fixed(host, 'rack', 40) + 1:02}",
        "cores": 4 << fixed(host, "cores", 4),
        "gb": 16 << fixed(host, "memory", 4),
    }
    return Shown("hosts", {"action": "show", "host": host}, lambda ref: json.dumps({"ref": ref, **card}))


def _host(sentences: SentenceWriter) -> str:
    return sentences.rng.choice(sentences.rng.choice(sentences.desk.hosts))


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
READS: Sequence[Callable[[SentenceWriter], Shown]] = (
    *(listing, tree, page, numbered, settings, json_file, matches, hits, results, card, thread, inbox, message),
    *(journal, disks, processes, unit_status, ping, history, changes, sums, person, calendar, free_rooms),
    *(inventory, host_card),
)


def read(writer: CallWriter, shown: Shown) -> Pair:
    """Return a call that reads, with its result."""
    return writer.read(shown.tool, shown.args, shown.text)
