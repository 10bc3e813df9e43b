"""One value in a reply in any language, found without reading words: by marks, lines and digits."""

from __future__ import annotations

import re
import unicodedata

from pipeline.metrics.reply import SPACED, reply_text, western
from pipeline.metrics.scorer import Row, Scorer

TAGGED = re.compile(r"<(?:final_)?answer>(.*?)(?=</(?:final_)?answer>|<(?:final_)?answer>|\Z)", re.DOTALL)
BEHIND_COLON = re.compile(r".*:(?!\d)(.*)", re.DOTALL)
IN_GROUPS = re.compile(r"(?<![\w.,])(?:\d{1,3}([ ,.'\u2019_])\d{3}(?:\1\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?![,.]?\d)")
"""A number of at least seven digits, grouped in threes or as in India."""
DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-") | {"\u066b": ".", "\u066c": ","})
"""ASCII for dashes, and for the separators of Arabic numbers."""
AROUND = " .*`'\"()\u3002\u0964\u00ab\u00bb\u201c\u201d\u201e\u300c\u300d"
"""What may stand around a name that is the final answer."""
NAME = re.compile(r"[^\W\d_]\D*")
IDENTIFIER = re.compile(r"[0-9a-f]{6,10}(?:-[0-9a-f]{2,6}){3}-[0-9a-f]{10,14}")
CODED, ISO_DAY = re.compile(r"[a-z]{2,4}-\d{3}"), re.compile(r"\d{4}-\d{2}-\d{2}")


def in_any_script(row: Row, prediction: str) -> float | None:
    """Score one value in a reply in any language: the final answer must be it, or contain it and no other of its form.

    The final answer is the content of the last ``<answer>``; without one, what follows the colon of the last line that
    has such a value there, or else the whole reply. It is compared in Unicode's NFKC form, in lowercase, with the
    digits of all scripts as 0 to 9, without direction marks and joiners. No letter, mark or digit may touch the value,
    except letters of scripts without spaces, such as Chinese, and one-letter Arabic words. Without ``<answer>``, a
    reply whose other lines end in other values of the form scores 0, since it lists them. A name must be the whole of
    the final answer, since other names cannot be recognised by their form.

    If the value is a code, a reply may repeat the codes of the question.

    A reply can be judged if its final answer is the value, or contains something of its form: a UUID, a code, an ISO
    date, or a number of about its length; for a name, any final answer can be. Otherwise it is ``unparsed``.
    """
    apart = SPACED.sub(" ", folded(reply_text(prediction, _question(row))))
    text = IN_GROUPS.sub(lambda found: re.sub(r"\D", "", found[0]), apart)
    wanted = [folded(str(answer)) for answer in row["answers"]]
    asked = CODED.findall(folded(_question(row))) if any(map(CODED.fullmatch, wanted)) else []
    given, listed = _marked_value(text, wanted)
    alone = not _lists_others(listed, [*wanted, *asked])
    if given.strip(" .*`'\"()") in wanted or given.strip() in wanted:
        return float(alone)
    found = {value for answer in wanted for value in _values(given, answer)}
    if not found:
        return 0.0 if NAME.fullmatch(wanted[0]) and re.search(r"\w", given) else None
    found -= {*asked}
    return float(len(found) == 1 and found <= {*wanted} and alone)


def folded(text: str) -> str:
    """Return a text as it is compared: NFKC, ASCII digits, case folded, without formatting characters."""
    plain = unicodedata.normalize("NFKC", text)
    shown = "".join(each for each in plain if each in "\n\t" or unicodedata.category(each) != "Cf")
    return western(shown.translate(DASHES)).casefold().strip()


def _question(row: Row) -> str:
    return str(row.get("question") or "")


def _marked_value(text: str, wanted: list[str]) -> tuple[str, list[str]]:
    """Return the final answer and, if it is the rest of a line after a colon, all other lines."""
    tagged = [found for found in TAGGED.findall(text) if found.strip()]
    if tagged:
        return tagged[-1].strip(), []
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    for at in range(len(lines) - 1, -1, -1):
        behind = BEHIND_COLON.fullmatch(lines[at])
        if behind and any(_values(behind[1], answer) for answer in wanted):
            return behind[1].strip(), lines[:at] + lines[at + 1 :]
    return text, []


def _lists_others(lines: list[str], wanted: list[str]) -> bool:
    """Tell whether lines end in values of the answers' form that are not among them."""
    ends = (line.rstrip(" .*`'\"()")[-100:] for line in lines)
    last = ((end, value) for end in ends for answer in wanted for value in _values(end, answer))
    return any(value not in wanted and end.endswith(value) for end, value in last)


def _values(text: str, answer: str) -> list[str]:
    """Return the values in a text that have an answer's form: for a name, itself if it is all of the text."""
    shaped = [form.pattern for form in (IDENTIFIER, CODED, ISO_DAY) if form.fullmatch(answer)]
    if shaped:
        (form,) = shaped
    elif answer.isdigit():
        form = rf"\d{{{min(len(answer), max(2, len(answer) - 2))},{len(answer) + 2}}}"
    elif NAME.fullmatch(answer):
        return [answer] * (text.strip(AROUND) == answer)
    else:
        form = re.escape(answer)
    found = re.finditer(rf"(?<![-.,]){form}(?![-.,]?\d)(?!-[0-9a-z])", text)
    return [each[0] for each in found if not (_is_beside(text, each.start() - 1) or _is_beside(text, each.end()))]


def _is_beside(text: str, at: int) -> bool:
    """Tell whether the character at a place is a letter, a combining mark or a digit."""
    return 0 <= at < len(text) and unicodedata.category(text[at])[0] in "LMN"


PLAIN_SCORER = Scorer(in_any_script, 3, "value")
