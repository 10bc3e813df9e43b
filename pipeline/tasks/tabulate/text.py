"""The text of `tabulate` prompts around notes and lines. All wording is Carrara's own."""

from __future__ import annotations

SURVEY = "Survey:\n"
LOG = "Host log:\n"
NOTES_INTRODUCTION = """\
Below is a survey of the buildings of a land, one note on each line, in no particular order. A note names a building \
and states its kind, the region that it stands in, who built it, the year in which it was ready, and its cost in \
crowns. You will be asked for a table of the buildings of one kind in one region. A note may also speak of other \
regions, or of buildings without a name: these do not count.
"""
NOTES_TAIL = """\
This is the end of the survey. Reply with the table alone. Its columns are name, builder, year and cost, with a tab \
between them, and its first line has these four words. Names are written as in the notes, years and costs in digits.

Question: {question}
Answer:"""
LISTED = "Which {kinds} stand in {region}? Give a row for each of them, in the order of their notes."
SORTED = "Which {kinds} stand in {region}? Give a row for each of them, in the order of their costs, the {first} first."
ORDERS = {"lowest": False, "highest": True}
"""How rows may be sorted: what comes first, and whether costs fall."""
HEAD = ("name", "builder", "year", "cost")

LOG_INTRODUCTION = """\
Below is the log of one day that several hosts share, one line for each event, in order of time. A line has the time, \
the host, its unit, the level, and a message. You will be asked to rewrite the lines of one host. The rules are:

1. {time}
2. {level}
3. {number}

There are two exceptions.

4. {first}
5. {second}

Lines in which other hosts quote a line do not count, and names of hosts may differ in a single letter.
"""
LOG_TAIL = """\
This is the end of the log. Reply with the table alone. Its columns are {columns}, with a tab \
between them, and its first line has these four words. The number is the one in the message.

Question: {question}
Answer:"""
REWRITTEN = "What are the lines of host {host} in the new form? Give a row for each of them, in the order of the log."
RULES = {
    "short": "The time is written without seconds and colons: 09:14:07 becomes 0914.",
    "moved": "The time is put {hours} hours ahead, since the clock of the host is slow; 23 is followed by 00, and "
    "minutes and seconds stay.",
    "coded": "The level is written as a letter: {codes}.",
    "ranked": "The level is written as a digit: {codes}.",
    "doubled": "The number is doubled.",
    "padded": "The number is written with four digits, with zeros in front.",
    "time": "In lines of the units {units} the time stays as it is in the log.",
    "level": "In lines of the units {units} the level stays as it is in the log.",
    "number": "In lines of the units {units} the number is left out, and the word none stands in its place.",
}
"""The rules by name: two each for the time, the level and the number, then exceptions from these."""
COLUMNS = ("time", "unit", "level", "number")

ECHO_INTRODUCTION = """\
Below is a survey of the buildings of a land, one note on each line. One line is different: it repeats a single word \
many times, with one word in one place that differs, if only in a letter or a capital. You will be asked to copy this \
line.
"""
ECHO_TAIL = """\
This is the end of the survey. Reply with a copy of the line alone, with all of its words in the same order and a \
space between them. Do not shorten or correct it.

Question: {question}
Answer:"""
COPIED = (
    'Which line repeats the word "{word}" many times, with one word in one place that differs, if only in a letter or '
    "a capital? Copy this line exactly."
)
PAIRS = (
    *(("apple", "apples"), ("river", "rivers"), ("garden", "gardens"), ("cloud", "clouds")),
    *(("house", "horse"), ("light", "night"), ("stone", "store"), ("table", "cable")),
    *(("golden", "Golden"), ("winter", "Winter"), ("north", "North"), ("green", "Green")),
    *(("orange", "purple"), ("morning", "evening"), ("bread", "butter"), ("ocean", "desert")),
)
"""Two words that differ in an ending, a letter, a capital, or altogether; after a space, each is one token in all
shipped profiles."""
