"""Tables, each row of which is right or wrong as a whole."""

from __future__ import annotations

import csv
import re
import string
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from pipeline.metrics.reply import END, MARK, QUESTIONS, western, without_reasoning
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import BULLET, f1

TENTHS = 10
TABLE_FIGURES = ("recall", "precision", "order", "written", *(f"tenth {place}" for place in range(1, TENTHS + 1)))
"""What `rows` measures; the last ten are the recall of each tenth of the key, in order."""
FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
"""A code block; the last one may be cut off."""
FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
DRAWN = frozenset(" \t|:+=-")
"""The characters of the line that Markdown draws below the head of a table."""
NUMBER_CELL = re.compile(r"[-+]?\d{1,3}(?:([,'. \u00a0\u2009\u202f])\d{3})(?:\1\d{3})*")
NEXT_PROMPT = (*QUESTIONS, "\nQuestion:", "\nSurvey:\n", "\nHost log:\n")
"""Where a base model, having answered, goes on to another prompt."""
ANSWER_TAGS = re.compile(r"</?(?:final_)?answer>", re.IGNORECASE)
BOX_OPENED = re.compile(r"\$?\\boxed\s?\{(?:\\text\s?\{)?")
LED = 60
"""Characters at the beginning of a line that may mark it as the answer."""
CELL_MARKUP = re.compile(r"[*`]+")
AS_ASCII = str.maketrans(
    {
        **dict.fromkeys("\u060c\u3001\uff0c", ","),
        "\uff5c": "|",
        "\u066c": ",",
        **dict.fromkeys("\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"),
    }
)
"""ASCII for commas and bars of other scripts; direction marks are removed."""
Cells = tuple[str, ...]


def by_tabs(line: str) -> list[str]:
    """Return the cells of a line between tabs."""
    return line.split("\t")


def by_bars(line: str) -> list[str]:
    """Return the cells of a line between bars, which may also begin and end it."""
    return line.strip().removeprefix("|").removesuffix("|").split("|")


def by_commas(line: str) -> list[str]:
    """Return the cells of a line of comma-separated values; a malformed line is one cell."""
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return [line]


def by_blanks(line: str) -> list[str]:
    """Return the cells of a line between runs of spaces, which some models write for tabs."""
    return re.split(" {2,}", line.strip())


SEPARATORS: tuple[Callable[[str], list[str]], ...] = (by_tabs, by_bars, by_commas, by_blanks)


def rows(row: Row, prediction: str, *, figure: str = "score") -> float | None:
    """Score a table by the F1 of its rows, in any order and with repetitions, or by one of `TABLE_FIGURES`.

    A row is right if all of its cells are. Cells are compared without markup, case, extra spaces and separators between
    groups of digits, with the digits of all scripts as 0 to 9. The table is the last code block that contains one, or
    else the longest run of lines with cells between tabs, bars, commas or several spaces. Its first line is ignored if
    it is the target's header, and so are the lines that Markdown draws. For the subtask ``sort``, the score is
    ``order``.

    - recall, precision: right rows, as a share of the target's rows, or of the rows given.
    - order: the longest common subsequence of rows, divided by the larger number of rows.
    - written: rows given, divided by those of the target, at most 1.
    - tenth 1 to tenth 10: the recall of each tenth of the target.

    A reply can be judged if it has a line of several cells; otherwise it is ``unparsed``.
    """
    head, *wanted = map(cells_of, str(row["target"]).split("\n"))
    given = given_rows(prediction, head)
    if given is None:
        return None
    right = (Counter(wanted) & Counter(given)).total()
    if figure == "score" and row["subtask"].partition("-")[0] != "sort":
        return f1(right, len(wanted), len(given))
    if figure in ("score", "order"):
        return common_rows(wanted, given) / max(len(wanted), len(given))
    if figure in ("recall", "precision"):
        return right / max(1, len(wanted if figure == "recall" else given))
    if figure == "written":
        return min(1.0, len(given) / len(wanted))
    return tenth_recall(wanted, given, int(figure.rpartition(" ")[2]) - 1)


def cells_of(line: str) -> Cells:
    """Return the cells of a target's line as they are compared."""
    return tuple(map(compared_cell, by_tabs(line)))


def compared_cell(cell: str) -> str:
    """Return a cell as it is compared.

    >>> compared_cell(" **Jane  Foster** "), compared_cell("1,250")
    ('jane foster', '1250')
    """
    text = " ".join(CELL_MARKUP.sub("", western(unicodedata.normalize("NFC", cell))).split()).rstrip(".")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if found := NUMBER_CELL.fullmatch(text):
        text = text.replace(found[1], "")
    return text.casefold()


def given_rows(prediction: str, head: Cells) -> list[Cells] | None:
    """Return the rows of a reply's table, without its head, as they are compared; None if there is no table."""
    reply = first_answer(prediction)
    if BOX_OPENED.search(reply):
        reply = BOX_OPENED.sub("", reply).rstrip("}$. \n")
    reply = reply.replace("\\t", "\t").translate(AS_ASCII)
    blocks = [found[1] for found in FENCE.finditer(reply)]
    table = next((found for block in reversed(blocks) if (found := longest_table(block))), None)
    table = table or longest_table(FENCE_LINE.sub("", reply))
    if not table:
        return None
    return table[1:] if table[0] == head else table


def first_answer(prediction: str) -> str:
    """Return a reply without reasoning, tags, and what follows its end or begins another prompt."""
    reply = next((part for part in END.split(without_reasoning(prediction)) if part.strip()), "").strip("\n")
    end = min((at for stop in NEXT_PROMPT if (at := reply.find(stop)) >= 0), default=len(reply))
    return ANSWER_TAGS.sub("\n", reply[:end])


def longest_table(text: str) -> list[Cells]:
    """Return the longest run of lines that one separator splits into several cells; blank lines do not end a run."""
    every = (line for line in text.splitlines() if line.strip() and not ("--" in line and DRAWN.issuperset(line)))
    lines = [BULLET.sub("", line[led.end() :] if (led := MARK.search(line[:LED])) else line) for line in every]
    longest: list[list[str]] = []
    for separate in SEPARATORS:
        cut = [separate(line) for line in lines]
        for several, run in groupby(cut, lambda cells: len(cells) > 1):
            found = list(run) if several else []
            longest = found if len(found) > len(longest) else longest
    return [tuple(map(compared_cell, cells)) for cells in longest]


def common_rows(wanted: Sequence[Cells], given: Sequence[Cells]) -> int:
    """Return the length of the longest common subsequence (Hunt and Szymanski 1977)."""
    places: dict[Cells, list[int]] = {}
    for place, cells in enumerate(wanted):
        places.setdefault(cells, []).insert(0, place)
    ends: list[int] = []
    for place in (place for cells in given for place in places.get(cells, ())):
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def tenth_recall(wanted: Sequence[Cells], given: Sequence[Cells], tenth: int) -> float:
    """Return the recall of one tenth of the key; of equal rows, the first ones count as given."""
    left, found = Counter(given), [0, 0]
    for place, cells in enumerate(wanted):
        is_given = left[cells] > 0
        left[cells] -= is_given
        if place * TENTHS // len(wanted) == tenth:
            found[0] += is_given
            found[1] += 1
    return found[0] / max(1, found[1])


ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
LONGPROC_ARTICLES = re.compile(r"\b(a|an|the)\b")
LONGPROC_MISSING = "na"
"""LongProc's cell N/A, normalised; it fills lines with too many or too few cells."""


def longproc(row: Row, prediction: str, *, figure: str = "score") -> float:
    """Score as LongProc's HTML to TSV (Ye et al. 2025): F1 of rows, each compared with all rows of the other table.

    The table is the block marked ``tsv``, else all of the reply. Its first line is always the head. A line with another
    number of cells counts as a wrong row, or is dropped if it is the last. A right row that is given twice counts twice
    in precision. A table of another width than the target scores 0, and so does one whose head repeats a column. There
    are only three figures; for any other one, the score is returned.
    """
    reply = without_reasoning(prediction)
    block = re.search(r"```tsv([\s\S]*)```", reply)
    text = block[1].strip() if block else reply.split("```tsv")[1].strip() if "```tsv" in reply else reply.strip()
    wanted, given = longproc_table(str(row["target"])), longproc_table(text)
    if not wanted or not given or len(wanted[0]) != len(given[0]):
        return 0.0
    precision = sum(cells in wanted for cells in given) / len(given)
    recall = sum(cells in given for cells in wanted) / len(wanted)
    if figure in ("recall", "precision"):
        return precision if figure == "precision" else recall
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def longproc_table(text: str) -> list[list[str]]:
    """Return the rows of a table as LongProc reads and compares them; none if its code would fail."""
    try:
        head, *lines = csv.reader(text.strip().split("\n"), delimiter="\t")
    except (csv.Error, ValueError):
        return []
    if lines and len(lines[-1]) != len(head):
        lines.pop()
    if len({*head}) < len(head):
        return []
    return [
        list(map(longproc_cell, cells)) if len(cells) == len(head) else [LONGPROC_MISSING] * len(head)
        for cells in lines
    ]


def longproc_cell(cell: str) -> str:
    """Return a cell as LongProc compares it: in lowercase, without punctuation, articles and spaces."""
    return "".join(LONGPROC_ARTICLES.sub(" ", cell.lower().translate(ASCII_PUNCTUATION)).split())


ROWS_SCORER = Scorer(
    rows,
    2,
    "rows",
    quirks={"multiset": {}, "longproc": longproc},
    ungraded="each row of a table is judged, and most replies are right in part",
    figures=TABLE_FIGURES,
)
