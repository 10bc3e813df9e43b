"""The text of a reply without reasoning, template tokens, further questions and markup."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import filterfalse

from pipeline.metrics.dates import dated
from pipeline.metrics.scorer import Row

MAX_REPLY_CHARACTERS = 200_000
"""Characters at the end of a reply that are read."""
QUESTIONS = (
    *("\nFrage:", "\nPregunta:", "\nQuestion\u00a0:", "\nPytanie:"),
    *("\n\u0412\u043e\u043f\u0440\u043e\u0441:", "\n\u95ee\u9898\uff1a", "\n\u8cea\u554f\uff1a", "\nPertanyaan:"),
    *("\n\u0627\u0644\u0633\u0624\u0627\u0644:", "\n\u092a\u094d\u0930\u0936\u094d\u0928:"),
)
"""Where a base model, having answered, asks itself another question, in languages other than English."""
STOPS = (
    *QUESTIONS,
    *("\nQuestion:", "\nQuestions:", "\nLast question:\n", "\nLast message:\n", "\nLast text:\n", "\nUser:"),
    *(
        "\nBiographies:",
        "\nEssays and biographies:\n",
        "\nDocuments:\n",
        "\nText:\n",
        "\nAnnals:\n",
        "\nMessages:\n",
        "\nTrace:\n",
        "\nReport:\n",
        "\nFiles:\n",
        "\nCommits:\n",
        "\nSurvey:\n",
        "\nHost log:\n",
    ),
    *(
        "\nList:\n",
        "\nJSON object:\n",
        "\nProgram:\n",
        "\n--- Program",
        "\n--- Graph",
        "\n--- End of graph",
        "\nExample:\n",
        "\nExamples:\n",
        "\nExample 1, with ",
    ),
)
"""Where a base model, having answered, goes on to another prompt like the one it was shown: the headings of tasks."""
END = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|<\uff5c[^<>\n]{1,40}\uff5c>|</?(?:\w{1,20}_)?s>|<(?:\w{1,20}:)?eos>|<(?:end|start)_of_turn>|<turn\|>|\[/?INST\]|\[e~\["
)
"""Tokens of chat templates that some engines leave in a reply."""
NAMED = r"(?:\w{1,20}[:_])?(?:think|thinking|thought|thoughts|reasoning)"
OPENED = re.compile(
    rf"<{NAMED}>|\[THINK\]|\u25c1think\u25b7|<\|channel>|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|inner_prefix\|>"
    r"|<\|open\|>\s?think\s?<\|sep\|>|<unused94>"
)
ENDED = re.compile(
    rf"</{NAMED}>|\[/THINK\]|\u25c1/think\u25b7|<channel\|>|<\|END_THINKING\|>|<\|end_of_thought\|>|<\|inner_suffix\|>"
    r"|<\|close\|>\s?think\s?<\|sep\|>|<unused95>"
)
"""Marks around reasoning: those of DeepSeek, Qwen, GLM and most others (``<think>``), ByteDance, MiniMax and LongCat
(with a prefix), Mistral, Kimi, Gemma, Command, OpenThinker, Apertus, Kimi K3, and MedGemma."""
IN_WORDS = re.compile(
    r"\A\s*Here(?:'s| is) my thought process:(?:.*?\n[^\S\n]*Here(?:'s| is) my response:\s*|.*\Z)", re.DOTALL
)
"""Reasoning as Granite marks it."""
CHANNEL = re.compile(r"<\|channel\|>\s*(\w{1,40})[^<>]{0,200}(?:<\|constrain\|>[^<>]{0,200})?<\|message\|>")
BARE_CHANNEL = re.compile(r"\A\s*(?:analysis|commentary)(?:.*assistantfinal|(?=[A-Z\"'\d*]).*\Z)", re.DOTALL)
"""Channels of Harmony, the format of gpt-oss, with and without its special tokens (some engines drop them). Only the
channel `final` is the reply."""
FRAMED = re.compile(r"\s*(?:<response>|<\|START_RESPONSE\|>|<\|begin_of_solution\|>|<\|open\|>\s?response\s?<\|sep\|>)")
UNFRAMED = re.compile(r"</response>|<\|END_RESPONSE\|>|<\|end_of_solution\|>|<\|close\|>\s?response\s?<\|sep\|>")
"""What some families put around the reply itself, after their reasoning."""


def stops_of(prompt: str) -> list[str]:
    """Return the strings at which a reply to a bare prompt may end: those of `STOPS` that the prompt contains."""
    return [stop for stop in STOPS if stop in prompt]


def reply_text(prediction: str, question: str = "") -> str:
    """Return a reply without reasoning, ends of turns, code fences and further questions.

    `question` is the row's own, which a reply may repeat before it answers.
    """
    text = next((part for part in END.split(without_reasoning(prediction)) if part.strip()), "").strip()
    text = text[: min((at for stop in STOPS if (at := _stopped(text, stop, question)) >= 0), default=len(text))]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~"))]
    return "\n".join(_without_cut(lines)).strip()


LEAST_CUT = 7
"""Fewest characters of a line for a shorter last line to count as its beginning, not as another answer."""
CUE = re.compile(r"\s*(?:(?:final )?answers?:\s*)?", re.IGNORECASE)


def _without_cut(lines: list[str]) -> list[str]:
    """Return lines without the last one if it repeats an earlier line but breaks off.

    Models that repeat their answer until they run out of tokens end so. A line breaks off within a word, or anywhere if
    the two answers before it are the same.
    """
    *before, last = (line.rstrip() for line in lines or [""])
    begun = last[_cue(last) :]
    if begun and any(_is_begun(line[_cue(line) :], begun) for line in before):
        return before
    *_, first, second = ["", "", *filter(None, before)]
    answer = second[_cue(second) :]
    looped = len(answer) >= LEAST_CUT and first[_cue(first) :] == answer and last not in (answer, second)
    return before if looped and (answer.startswith(last) or second.startswith(last)) else lines


def _cue(line: str) -> int:
    found = CUE.match(line)
    return found.end() if found else 0


def _is_begun(whole: str, begun: str) -> bool:
    cut = whole.startswith(begun) and len(whole) >= max(LEAST_CUT, len(begun) + 1)
    return cut and re.fullmatch(r"\w[\w-]", whole[len(begun) - 1 : len(begun) + 1]) is not None


def without_reasoning(prediction: str) -> str:
    """Return a reply without its reasoning, cut to its last `MAX_REPLY_CHARACTERS` characters.

    The reply is what follows the last end of reasoning, or what precedes all reasoning if nothing follows. Reasoning
    without an end extends to the end of the text.
    """
    text = _final(prediction)
    reply = text[max((end.end() for end in ENDED.finditer(text)), default=0) :]
    if len(reply) < len(text):
        reply = reply.lstrip()
    begun = OPENED.search(reply) or (None if reply else OPENED.search(text))
    reply = (reply or text)[: begun.start()] if begun else reply
    if frame := FRAMED.match(reply):
        reply = UNFRAMED.split(reply[frame.end() :], maxsplit=1)[0].strip()
    return reply[-MAX_REPLY_CHARACTERS:]


def _final(prediction: str) -> str:
    """Return the last final channel or, without one, what precedes all channels; without channels, the whole reply."""
    if bare := BARE_CHANNEL.match(prediction) or IN_WORDS.match(prediction):
        return prediction[bare.end() :]
    channels = list(CHANNEL.finditer(prediction))
    if not channels:
        return prediction
    last = next((each for each in reversed(channels) if each[1] == "final"), None)
    return END.split(prediction[last.end() :], maxsplit=1)[0] if last else prediction[: channels[0].start()]


def _stopped(text: str, stop: str, question: str) -> int:
    """Return where a further question begins, or -1."""
    at = text.find(stop)
    own = question and text[at + len(stop) :].lstrip().startswith(question)
    return text.find(stop, at + len(stop)) if own else at


MARKUP = re.compile(r"[*`$]+|(?<!\w)_{1,3}|_{1,3}(?!\w)|\\[\[\]()!,;: ]|(?m:^[ \t]*(?:#{1,6}|>)[ \t]+)|</?\w{1,20}>")
CHAT = re.compile(r"\A(?:okay|ok|sure|certainly|of course|all ?right|well|absolutely|great)[,!.:]\s+", re.IGNORECASE)
"""Chatty openings: "Okay, Paris" gives Paris and nothing else."""
WORDED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|operatorname)\s?\{([^{}\n]{0,2000})\}")
STRAIGHT = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2212": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u2013": "-",
        "\u2014": " - ",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\x01": " ",
        "\uff1a": ": ",
        "\uff0c": ", ",
        "\u3001": ", ",
        "\u3002": ". ",
        "\uff1b": "; ",
        "\uff08": " (",
        "\uff09": ") ",
        "\u060c": ", ",
        "\u061b": "; ",
        "\u061f": "?",
        "\u0964": ". ",
        **dict.fromkeys(
            "\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
        ),
    }
)
"""ASCII for quotes, dashes, spaces, and Chinese, Arabic and Hindi punctuation; joiners and direction marks are
removed."""
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, Han."""
PROCLITIC = r"\u0640|(?<!\w)[\u0648\u0641\u0628\u0644\u0643]"
"""Arabic one-letter words such as "and", which are joined to the next word; or a stroke (tatweel) between them."""
SPACED = re.compile(
    rf"(?<=[{UNSPACED}])(?=[A-Za-z0-9-])|(?<=[A-Za-z0-9])(?=[{UNSPACED}])|(?:{PROCLITIC})(?=[A-Za-z0-9])"
)
"""Where a space separates these from ASCII letters and digits. It replaces the Arabic words, which are never values."""
FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")


def western(text: str) -> str:
    """Return a text with the digits of all scripts as 0 to 9."""
    return FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def plain(row: Row, prediction: str) -> str:
    """Return a reply as plain text: without reasoning, markup and accents; quotes are straight, dates numbers."""
    return dated(without_markup(row, prediction))


def without_markup(row: Row, prediction: str) -> str:
    """Return a reply as plain text, with dates as they are."""
    text = unaccented(_unwrapped(reply_text(prediction, str(row.get("question") or ""))))
    text = CHAT.sub("", text, count=1)
    text = re.sub(r"<(?:final_)?answer>", "\nAnswer: ", text, flags=re.IGNORECASE)
    return MARKUP.sub("", WORDED.sub(r"\1", text.replace("</answer>", "\n")))


def unaccented(text: str) -> str:
    """Return a text with straight quotes, without accents, and with the digits of ASCII.

    Letters of scripts without spaces are separated from ASCII. Answers from users' own texts may contain any of these.
    """
    straight = text.translate(STRAIGHT)
    if straight.isascii():
        return straight
    bare = "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFD", straight)))
    return SPACED.sub(" ", western(bare))


def _unwrapped(text: str) -> str:
    """Return the answer in a JSON object, or all its values; any other text unchanged."""
    if not text.startswith("{"):
        return text
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text
    answers = [held[name] for name in ("final_answer", "answer", "answers") if name in held]
    found = answers[0] if answers else list(held.values())
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, list) and not all(isinstance(each, int) for each in found):
        return PART.join(map(str, found))
    return str(found)


BOXED = re.compile(r"\\boxed\s?\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){0,2000})\}")
MARK = re.compile(
    r"\b(?:final answer|answers?|final output|output|final result)\b(?: to (?:the|your|this) questions?)?\s{0,3}[:=]"
    r"|\b(?:the|my|final|correct) (?:(?:final|correct|right|best|short) ){0,2}(?:answers?|option|choice|output)"
    r"(?: to (?:the|your|this) questions?)? (?:is|are|was|(?:would|must|should) be)\b(?! (?:not|never|in)\b)\s{0,3}:?",
    re.IGNORECASE,
)


def after_mark(text: str) -> tuple[str, bool]:
    """Return what follows the last mark, and True; or all of the text, and False, if nothing does."""
    marks = [found.end() for found in MARK.finditer(text)]
    boxes = [found.start() for found in BOXED.finditer(text)]
    if boxes and boxes[-1] > max(marks, default=-1):
        start = max(text.rfind("\n", 0, boxes[-1]) + 1, *marks, 0)
        first = next(at for at in boxes if at >= start)
        return BOXED.sub(r"\1", text[first:]), True
    behind = text[marks[-1] :] if marks else ""
    return (behind, True) if re.search(r"\w", behind) else (text, False)


PART = "; "
"""The separator of an answer's parts."""
TABLE_HEAD = re.compile(r"^.*\|.*\n[ \t|]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
