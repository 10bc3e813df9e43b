"""One value, or a refusal if the text does not give it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from pipeline.metrics.dates import DATED
from pipeline.metrics.forms import form_of, shaped
from pipeline.metrics.glosses import unglossed
from pipeline.metrics.published import substring, token_f1
from pipeline.metrics.reply import after_mark, plain, unaccented
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import (
    CHOOSING,
    DENIALS,
    EXPLAINED,
    FINITE,
    HEDGE,
    JOINTS,
    LINKS,
    LONG_LINE,
    REFUSAL,
    TOKEN,
    alike,
    is_bare,
    is_neutral,
    is_neutral_line,
    may_be_value,
    phrase,
    sentences_of,
    settled_on,
    words_asked,
    words_of,
)

SLACK = 3
"""Strange words allowed in the piece of an answer, but not next to it."""


def gives(sentence: str, answers: Collection[str], asked: frozenset[str]) -> bool | None:
    """Tell whether a sentence gives one of the answers and no other value; None if it gives no value at all."""
    if len(sentence) > LONG_LINE:
        return False
    sentence = unglossed(sentence, answers)
    for answer in sorted(map(DATED, answers), key=len, reverse=True):
        masked, found = phrase(answer).subn(" \x01 ", sentence)
        if found:
            head, _, behind = masked.rpartition("\x01")
            return stands_alone(f"{head}\x01{EXPLAINED.sub('', behind)}", answer, asked)
    other = is_bare(sentence) or any(alike(sentence, answer, asked) for answer in answers)
    return False if other or REFUSAL.search(sentence) else None


def stands_alone(masked: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a text names no value besides the masked ones: no name, date or piece of strange words.

    Strange words, which are neither neutral nor from the question, are allowed only in the piece of a masked value, not
    next to it, and no more than `SLACK` of them. If a name or a date is asked, lowercase words are strange only in
    lists, not in sentences, which have a finite verb or a word of the question.
    """
    words = TOKEN.findall(masked.lower().replace("not far", ""))
    if not (CHOOSING | DENIALS).isdisjoint(words) or REFUSAL.search(masked):
        return False
    names, digits = answer != answer.lower(), any(map(str.isdigit, answer))
    cased = names and masked != masked.lower()
    finite = (cased or digits) and masked != masked.lower() and not (FINITE | asked).isdisjoint(words)
    for piece in JOINTS.split(masked):
        tokens = TOKEN.findall(piece)
        strange = [may_be_value(each, asked, digits=digits) and not (finite and each[0].islower()) for each in tokens]
        if "\x01" not in tokens:
            if any(strange):
                return False
            continue
        beside = any(
            odd and (token[0].isupper() if cased else _touches(tokens, at))
            for at, (token, odd) in enumerate(zip(tokens, strange, strict=True))
        )
        rival_number = digits and any(odd and token[0].isdigit() for token, odd in zip(tokens, strange, strict=True))
        if beside or rival_number or sum(strange) > SLACK:
            return False
    return True


def _touches(tokens: Sequence[str], at: int) -> bool:
    """Tell whether a word is next to a masked value, or separated from it by a preposition: history of art."""
    for near in (tokens[:at][::-1], tokens[at + 1 :]):
        first = near[1:] if near and near[0] in LINKS else near
        if first and first[0] == "\x01":
            return True
    return False


ALTERNATIVES = re.compile(r"[,;?]\s*(?:or\s+)?|\s+or\s+")
PROPER = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
INTERROGATIVE = re.compile(r"(?:which|who|whom|whose|what|when|where|how|did|does|was|were|is|are)\b", re.IGNORECASE)
ARTICLE = re.compile(r"^(?:either|whether|the|an?)\s+", re.IGNORECASE)
COMPARING = re.compile(
    r"\b(?:than|ahead of|followed by|behind|over|against|versus|vs|compared (?:with|to))\b|>", re.IGNORECASE
)
OPPOSING = ("over", "against", "versus", "vs")
"""Words between alternatives that may leave the choice open."""
TURNING = words_of("but however though although no not answer choose pick former latter first second wins")
"""Words that could reverse the comparison before them."""
LOWERING = re.compile(r"\b(?:less|fewer|rarer|seldomer|lower|smaller|later|behind)\b", re.IGNORECASE)


def offered(row: Row, answers: Collection[str]) -> list[str]:
    """Return what a question offers besides its answer: ``Y`` for "Which came first, the X or the Y?".

    These are the alternatives that it lists, pairs in both orders, and other names. A question that does not name the
    answer offers nothing.
    """
    question = unaccented(str(row.get("question") or ""))
    if not any(phrase(answer).search(question) for answer in answers):
        return []
    own = {ARTICLE.sub("", answer.lower()) for answer in answers}
    pieces = [ARTICLE.sub("", piece.strip()) for piece in ALTERNATIVES.split(question.rpartition(":")[2])]
    others = [each for each in pieces if each] if not own.isdisjoint(map(str.lower, pieces)) else []
    others += [ARTICLE.sub("", name) for name in PROPER.findall(question)]
    others = [each for each in others if not INTERROGATIVE.match(each) and each.lower() not in own]
    return others + [" and ".join(reversed(each.split(" and "))) for each in others if each.count(" and ") == 1]


def chooses(sentence: str, answers: Collection[str], others: Collection[str], asked: frozenset[str]) -> bool | None:
    """Tell, as `gives`, whether a sentence gives an answer and no other value, if the question offers several.

    A sentence that names several gives the first if it compares it with the rest: "A, more often than B".
    """
    rivals = [found.start() for other in others for found in phrase(other).finditer(sentence)]
    if not rivals:
        return gives(sentence, answers, asked)
    own = [found.start() for answer in answers for found in phrase(answer).finditer(sentence)]
    if not own:
        return False
    first, then = min(own + rivals), min(rivals) if min(own) < min(rivals) else min(own)
    between = sentence[first:then]
    compared = COMPARING.search(between)
    if not compared or (min(own) < min(rivals)) is bool(LOWERING.search(between)):
        return False
    head, behind = sentence[: first + compared.start()], sentence[first + compared.end() :]
    bare = compared[0].lower() in OPPOSING and not any(map(str.isdigit, head)) and _is_fragment(head)
    if min(own) < min(rivals) and not bare and _only_compares(behind, others, asked):
        return gives(head, answers, asked)
    return gives(sentence, answers, asked)


def _is_fragment(text: str) -> bool:
    return FINITE.isdisjoint(TOKEN.findall(text.lower()))


def _only_compares(text: str, others: Collection[str], asked: frozenset[str]) -> bool:
    """Tell whether a text only completes a comparison with other values: "30 for B and 12 for C"."""
    for other in others:
        text = phrase(other).sub(" ", text)
    words = [word for word in TOKEN.findall(text) if not any(map(str.isdigit, word))]
    return not any(word.lower() in TURNING or may_be_value(word, asked) for word in words)


def _counts(sentence: str) -> bool:
    """Tell whether a text states a count, like "refund: 30", and is no sentence."""
    return any(map(str.isdigit, sentence)) and _is_fragment(sentence)


def exact(row: Row, prediction: str) -> float | None:
    """Score one value: the answering sentence must give an accepted answer, as whole words, and no other value.

    Another value is a name (or a date, if the answer is one) that is not in the question, or a piece of text between
    commas, ``and`` and the like with words that are neither in the question nor ordinary. If the question offers
    several alternatives, the ones that are not the answer are other values too, unless the sentence ranks the answer
    above them (``A, more often than B``). A sentence with ``or``, ``not`` or a refusal scores 0. Dates may have any
    unambiguous format. If the answer is a UUID or a number, only values of the same form are other values.

    A reply can be judged if it has a mark like ``Answer:``, is a bare value, or has a sentence with an accepted answer,
    another value of its kind (a name or a date) or a refusal; otherwise it is ``unparsed``.
    """
    asked, answers = words_asked(row), [unaccented(str(answer)) for answer in row["answers"]]
    if form := form_of(answers):
        return shaped(row, prediction, form)
    text, marked = after_mark(plain(row, prediction))
    others = offered(row, answers)
    lines = sentences_of(text) if others else []
    listing = not marked and any(_counts(each) and chooses(each, answers, others, asked) is False for each in lines)

    def read(sentence: str) -> bool | None:
        if listing and _counts(sentence):  # a step on the way to the answer
            return None
        return chooses(sentence, answers, others, asked)

    def leads(sentence: str) -> bool:
        return bool(read(sentence) or is_bare(sentence) or REFUSAL.search(sentence))

    def rival(sentence: str) -> bool:
        own = any(phrase(answer).search(sentence) for answer in answers)
        refused = REFUSAL.search(sentence) and is_neutral_line(sentence)
        return bool(refused) or is_bare(sentence) or (not own and _answers_again(sentence, answers[0], asked))

    found = settled_on(text, read, leads, marked=marked, bare=rival)
    if found is None:
        return None
    return float(found is True and (marked or not _ends_otherwise(text, read, answers[0], asked)))


def _ends_otherwise(text: str, read: Callable[[str], bool | None], answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a text answers twice: it begins with a sentence and ends with another value."""
    answering = [each for each in sentences_of(text) if read(each) is not None]
    other = read(answering[-1]) is False and bool(alike(answering[-1], answer, asked))
    return other and not is_bare(answering[0])


PRESENTING = words_of(
    "it he she is was the answer correct right could may might also be however but i think believe read say would so"
)
"""Words that present a value and add nothing to it."""


def _answers_again(sentence: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a sentence gives a value of the answer's kind in words of the question, or only presents it."""
    words = TOKEN.findall(sentence)
    strange = [word for word in words if may_be_value(word, asked)]
    presented = PRESENTING.issuperset(word.lower() for word in words if word not in strange and word not in LINKS)
    return bool(alike(sentence, answer, asked)) and (presented or _in_words_of(asked, sentence))


def _in_words_of(asked: frozenset[str], sentence: str) -> bool:
    """Tell whether a sentence repeats a word of the question that names what is asked: born, hobby, graduate."""
    roots = tuple(word for word in asked if len(word) > 3 and is_neutral(word) and word not in FINITE)
    return bool(roots) and any(word.startswith(roots) for word in TOKEN.findall(sentence.lower()))


def idk_pair(row: Row, prediction: str) -> float | None:
    """Score one row of a pair: if the text states the answer, the answer (as by `exact`), otherwise a refusal.

    A refusal is a sentence that says that the text does not tell, or that the question cannot be answered, without a
    guess (``probably``) or a value beside it. No one reply scores in both rows; a model passes if both score.

    A reply can be judged if it has a mark like ``Answer:``, or a sentence that refuses or gives a value; otherwise it
    is ``unparsed``.
    """
    if not REFUSAL.search(str(row["target"])):
        return exact(row, prediction)
    asked = words_asked(row)
    text, marked = after_mark(plain(row, prediction))

    def leads(sentence: str) -> bool:
        return bool(REFUSAL.search(sentence) or is_bare(sentence))

    def rival(sentence: str) -> bool:
        strange = any(may_be_value(word, asked) for word in TOKEN.findall(sentence))
        return is_bare(sentence) or (strange and _in_words_of(asked, sentence) and not REFUSAL.search(sentence))

    found = settled_on(text, lambda each: _refuses(each, asked), leads, marked=marked, bare=rival)
    return None if found is None else float(found is True)


def _refuses(sentence: str, asked: frozenset[str]) -> bool | None:
    """Tell whether a sentence refuses and gives no value; None if it does neither."""
    if len(sentence) > LONG_LINE:
        return False
    if not REFUSAL.search(sentence):
        return False if any(may_be_value(word, asked) for word in TOKEN.findall(sentence)) else None
    return not HEDGE.search(sentence) and not any(_names_value(piece, asked) for piece in JOINTS.split(sentence))


def _names_value(piece: str, asked: frozenset[str]) -> bool:
    """Tell whether a piece of a refusal names a value: a name or number in the refusing piece, any word in others."""
    tokens = TOKEN.findall(piece)
    if not REFUSAL.search(piece):
        return any(may_be_value(token, asked) for token in tokens)
    return any(may_be_value(token, asked) and not token[0].islower() for token in tokens[1:])


EXACT_SCORER = Scorer(exact, 6, "value", quirks={"alone": {}, "subem": substring, "f1": token_f1})
IDK_PAIR_SCORER = Scorer(
    idk_pair,
    6,
    "value",
    refuses=True,
    paired=True,
    aggregate="pairs",
    ungraded="a row of a pair, of which one is to be refused: refusals have no fixed wording",
)
