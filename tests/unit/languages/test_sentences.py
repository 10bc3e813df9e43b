"""Sentences of each language: what stands round a slot never depends on what fills it."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import astuple
from string import Formatter

import pytest

from pipeline.errors import CarraraError
from pipeline.languages import CODES, asking, forms_of, joined, language, languages_of
from pipeline.metrics import STOPS
from pipeline.worlds.needles import LABELS
from repository import ROOT

SLOTS = [
    (code, name, slot)
    for code in CODES
    for name, sentence in language(code).sentences.items()
    for _, slot, _, _ in Formatter().parse(sentence.text)
    if slot
]
QUOTED = ("label", "key", "value", "code", "query", "status", "host", "field")
NODE = {
    "en": "node", "de": "Knoten", "es": "nodo", "fr": "n\u0153ud", "pl": "w\u0119z\u0142a",
    "ru": "\u0432\u0435\u0440\u0448\u0438\u043d\u044b", "zh": "\u8282\u70b9",
    "ja": "\u9802\u70b9", "ar": "\u0639\u0642\u062f\u0629", "hi": "\u0928\u094b\u0921",
    "id": "simpul",
}  # fmt: skip
"""What a node's name follows: the noun, in the case that its sentence gives it."""
MEASURED = {
    "en": ("distance", "steps:"), "de": ("Entfernung", "Schritte:"), "es": ("distancia", "pasos:"),
    "fr": ("distance", "\u00e9tapes\u00a0:"), "pl": ("odleg\u0142o\u015bci", "krok\u00f3w:"),
    "ru": ("\u0440\u0430\u0441\u0441\u0442\u043e\u044f\u043d\u0438\u0438", "\u0448\u0430\u0433\u043e\u0432:"),
    "zh": ("\u8ddd\u79bb\u4e3a", "\u6b65\u6570\uff1a"),
    "ja": ("\u8ddd\u96e2\uff1a", "\u30b9\u30c6\u30c3\u30d7\u6570\uff1a"),
    "ar": ("\u0642\u062f\u0631\u0647\u0627", "\u0627\u0644\u062e\u0637\u0648\u0627\u062a:"),
    "hi": ("\u0926\u0942\u0930\u0940", "\u0938\u0902\u0916\u094d\u092f\u093e:"),
    "id": ("jarak", "langkah:"),
}  # fmt: skip
"""What a number follows: the noun that it measures."""
DATED = {
    "en": "on", "de": "am Stichtag", "es": "en la fecha", "fr": "\u00e0 la date du", "pl": "w dniu",
    "ru": "\u043d\u0430 \u0434\u0430\u0442\u0443", "zh": "\u5728", "ja": "\u65e5\u4ed8\uff1a",
    "ar": "\u0641\u064a \u062a\u0627\u0631\u064a\u062e", "hi": "\u0924\u093f\u0925\u093f",
    "id": "pada tanggal",
}  # fmt: skip
"""What an ISO date follows."""
COUNTS_NOTHING = {"zh": " \u7684", "en": " from node {node}", "ru": f" \u043e\u0442 {NODE['ru']} {{node}}"}
"""What a number may precede beside the end of a clause: no noun that it would count."""
GOES_ON = (" aus ", " \u51fa\u53d1", " \u7684", " \u0645\u0633\u0627\u0641\u0629 \u0642\u062f\u0631\u0647\u0627 ")
"""How a sentence goes on behind a node without a mark: none of it depends on the node."""
ENDS = ".?!\u3002\uff1f\u061f\u0964"
"""What ends a sentence."""
SCRIPTS = {
    "ru": {"CYRILLIC"}, "zh": {"CJK"}, "ja": {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}, "ar": {"ARABIC"},
    "hi": {"DEVANAGARI"},
}  # fmt: skip
"""The first words of the names that Unicode gives to the letters of a language; without an entry, ``LATIN``."""
OF_OTHERS = {
    "zh": ",.:;?", "ja": ",.:;?\uff0c\uff1f", "ar": ",;?", "hi": ".\uff1a",
}  # fmt: skip
"""Marks that a language has its own for."""
OF_TRANSLATING = re.compile(
    "translat|bersetz|traduc|traduit|t\u0142umacz|\u043f\u0435\u0440\u0435\u0432\u043e\u0434|\u7ffb\u8bd1"
    "|\u7ffb\u8a33|\u062a\u0631\u062c\u0645|\u0905\u0928\u0941\u0935\u093e\u0926|terjemah",
    re.IGNORECASE,
)


@pytest.mark.parametrize(("code", "name", "slot"), SLOTS, ids=lambda value: str(value))
def test_nothing_round_a_slot_agrees_with_it(code: str, name: str, slot: str) -> None:
    known = language(code)
    before, behind = re.split(re.escape(f"{{{slot}}}"), known.sentences[name].text)
    if slot in QUOTED:
        assert before.endswith(known.quotes[0])
        assert behind.startswith(known.quotes[1])
    elif slot == "labels":
        assert before[-1:] in (" ", "\uff1a") or code == "zh"
        assert not behind[:1].isalnum() or code == "zh"
        if code == "ar" and name != "log_exception":  # its two labels follow a dual
            assert not re.search(r"\w\u0627\u062a\b", before), "two have the dual"
    elif slot == "district":
        assert before.endswith(f"{known.labels.district} ")
        assert re.match(f"[{ENDS}]", behind.lstrip("\u00a0"))
    elif slot == "node":
        assert before.endswith(f"{NODE[code]} ")
        assert not behind.lstrip(" \u00a0")[:1].isalnum() or behind.startswith(GOES_ON)
    elif slot == "day":
        assert before.rstrip(" ").endswith(DATED[code])
        assert re.match(f"$|\u00a0?[{ENDS}]| \u8fd9\u4e00\u5929", behind)
    else:
        assert slot == "count"
        assert before.rstrip(" \u00a0").endswith(MEASURED[code])
        assert re.match(f"$|\u00a0?[{ENDS},\uff0c]", behind) or behind.startswith(COUNTS_NOTHING.get(code, "?"))


def labels_of_log(code: str) -> list[str]:
    """Return all labels about a log."""
    return [one for one in astuple(language(code).log) if isinstance(one, str)]


@pytest.mark.parametrize("code", CODES)
def test_labels_about_a_log_are_noun_phrases_without_slots(code: str) -> None:
    assert not [one for one in labels_of_log(code) if re.search(rf"[{{}}:\uff1a{ENDS}]", one)]


@pytest.mark.parametrize("code", CODES)
def test_a_language_has_at_most_sixty_texts_of_a_few_sentences_and_those_of_english(code: str) -> None:
    known = language(code)
    assert list(known.sentences) == list(language("en").sentences)
    ends = [re.findall(rf"[{ENDS}](?=\s|$)|[\u3002\uff1f]", one.text) or ["."] for one in known.sentences.values()]
    assert len(ends) <= 60
    assert max(map(len, ends)) <= 5
    assert len({known.labels.code, *known.labels.others, *known.labels.filler}) == 7 + LABELS
    assert len(known.labels.filler) == LABELS
    labels, log, records = known.labels, known.log, known.records
    fields = [*records.fields, records.date, records.plot, records.buyer, records.cancels, records.reinstates]
    assert len({*records.fields}) == len(language("en").records.fields)
    assert len({*fields[-5:]}) == 5
    assert not [one for one in fields if re.search(r"[\d,:\u3001\u060c\uff1a]", one)], "the solvers part entries there"
    for columns in (
        [labels.column, labels.district, labels.year, labels.amount],
        [log.time, log.component, log.level, log.number],
    ):
        assert len({*columns}) == 4
        assert not [one for one in columns if re.search(r"[\s\d,:\u3001\u060c\uff1a]", one)], (
            "the solver parts entries there"
        )


@pytest.mark.parametrize("code", CODES)
def test_files_are_in_the_normal_form_and_of_one_script(code: str) -> None:
    text = (ROOT / "pipeline" / "languages" / f"{code}.toml").read_text(encoding="utf-8")
    assert unicodedata.is_normalized("NFC", text)
    known = language(code)
    labels = known.labels
    named = (labels.code, *labels.others, *labels.filler, labels.column, labels.district, labels.year, labels.amount)
    records = known.records
    named += (records.person, *records.fields, records.entry, records.date, records.plot, records.buyer)
    named += (records.cancels, records.reinstates)
    said = "".join([*(one.text for one in known.sentences.values()), *named, *labels_of_log(code)])
    said = re.sub(r"<[^>]*>|`[^`]*`|\{[a-z]+\}|\b(?:JSON|Python|[ab])\b", "", said, flags=re.ASCII)
    scripts = {unicodedata.name(one).split()[0] for one in said if one.isalpha()}
    assert scripts == SCRIPTS.get(code, {"LATIN"})


@pytest.mark.parametrize("code", CODES)
def test_marks_are_those_of_the_language_and_none_turns_the_text(code: str) -> None:
    text = (ROOT / "pipeline" / "languages" / f"{code}.toml").read_text(encoding="utf-8")
    assert not [one for one in text if unicodedata.category(one) == "Cf"], "marks of direction, joiners and the like"
    known = language(code)
    said = "".join([known.colon, known.joint, *(one.text for one in known.sentences.values()), *labels_of_log(code)])
    said = re.sub(r"<answer>.*?</answer>|`[^`]*`", "", said)
    assert not {*OF_OTHERS.get(code, "")} & {*said}


@pytest.mark.parametrize("code", CODES)
def test_slots_are_those_of_english_and_forms_of_replies_are_the_same(code: str) -> None:
    for name, sentence in language(code).sentences.items():
        english = language("en").sentences[name].text
        slots = [sorted(slot for _, slot, _, _ in Formatter().parse(one) if slot) for one in (sentence.text, english)]
        assert slots[0] == slots[1], name
        fixed = [re.findall(r"</?answer>|\[|\]|`[^`]*`", one) for one in (sentence.text, english)]
        assert fixed[0] == fixed[1], name


@pytest.mark.parametrize("code", CODES)
def test_nothing_asks_for_a_translation(code: str) -> None:
    assert not OF_TRANSLATING.search((ROOT / "pipeline" / "languages" / f"{code}.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("code", CODES)
def test_every_sentence_says_who_has_signed_it(code: str) -> None:
    table = tomllib.loads((ROOT / "pipeline" / "languages" / f"{code}.toml").read_text(encoding="utf-8"))
    assert all(set(one) == {"text", "signed"} for one in table["sentences"].values())
    assert all("signed" in table[each] for each in ("labels", "log", "records"))


def test_a_label_of_a_change_says_the_same_in_every_language_that_has_it() -> None:
    records = [language(code).records for code in CODES]
    assert not {one.cancels for one in records} & {one.reinstates for one in records}


@pytest.mark.parametrize("code", CODES)
def test_replies_may_stop_at_the_question_of_each_language(code: str) -> None:
    known = language(code)
    assert f"\n{known.heads.question}{known.colon.rstrip()}" in STOPS


def test_names_of_forms() -> None:
    assert forms_of("niah_s1", ("de", "en"), ("en",)) == ["niah_s1-de_en", "niah_s1-en"]
    assert [asking(each) for each in ("niah_s1-de", "bfs-zh", "standard-essay", "niah_s1-xx", "niah_s1")] == [
        ("niah_s1", "de", "de"), ("bfs", "zh", "zh"), None, None, None,
    ]  # fmt: skip


def test_languages_of_subtasks() -> None:
    assert languages_of(["niah_s1-de_en", "niah_s1-zh"]) == ["en", "de", "zh"]
    assert languages_of(["bfs-pl"]) == ["pl"]
    assert languages_of(["standard", "standard-essay", "bfs-pl"]) == ["en", "pl"]


def test_sentences_are_joined_as_their_script_does() -> None:
    assert joined("One.", "Two.") == "One. Two."
    assert joined("\u4e00\u3002", "\u4e8c\u3002") == "\u4e00\u3002\u4e8c\u3002"
    assert joined("\u4e00\uff1f", "\u4e8c\u3002") == "\u4e00\uff1f\u4e8c\u3002"


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(CarraraError, match=r"unknown language 'xx'"):
        language("xx")
