"""MRCR: what is asked is balanced and found by reading, distractors keep to their cap, and planted faults are seen."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import PoolError
from pipeline.executors import Inline
from pipeline.metrics import mrcr, score, similarity
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.tasks.mrcr.chance import similarity as guessed
from pipeline.tasks.mrcr.solve import near_doubles, parts, read_conversation
from pipeline.verify.row import answer_faults, layout_faults, turns_of
from pipeline.worlds.writing.corpus import Writing, freeze
from pipeline.worlds.writing.library import Label, grammar_library, written
from pipeline.worlds.writing.realise import formats
from pipeline.worlds.writing.topics import topics

Row = dict[str, Any]
KNOBS = (("tone", True),)


def cell(subtask: str, complexity: int, length: int, rows: int = 8, **more: Any) -> Stratum:
    return Stratum("mrcr", subtask, "32k", length, complexity, rows, **more)


def built(folder: Path, *cells: Stratum, profiles: tuple[str, ...] = ("o200k",), tier: str = "32k") -> list[Row]:
    plan = make_plan(Recipe("mrcr", "0", 11, tier, cells), profiles, folder)
    assert all(Stages(plan, Inline, quiet=True).build())
    return [row for shard in plan.all_shards() for row in read_rows(shard.path(plan.out, "data"))]


CELLS = (
    *(cell(subtask, complexity, 8192) for subtask in ("transcript", "chat") for complexity in (2, 8)),
    *(cell(subtask, 2, 32768, rows=2) for subtask in ("transcript", "chat")),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all is built in, one after the other, as all have the same filler."""
    return tmp_path_factory.mktemp("mrcr")


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    return built(folder, *CELLS)


def stratum_of(row: Row) -> Stratum:
    return next(
        each
        for each in CELLS
        if (each.subtask, each.complexity, each.length) == (row["subtask"], row["complexity"], row["length"])
    )


def test_ordinals_are_balanced_and_matches_in_order(rows: list[Row]) -> None:
    for each in CELLS:
        own = [row for row in rows if stratum_of(row) == each]
        places = Counter(json.loads(row["metadata"])["latent"]["place"] for row in own)
        assert set(places.values()) == {each.rows // each.complexity}
        for row in own:
            matching = [needle for needle in row["needles"] if needle["role"] in ("relevant", "match")]
            assert [needle["depth"] for needle in matching] == sorted(needle["depth"] for needle in matching)
            asked = next(place for place, needle in enumerate(matching, 1) if needle["role"] == "relevant")
            assert asked == json.loads(row["metadata"])["latent"]["place"]


def test_the_code_is_twelve_characters_and_stands_once(rows: list[Row]) -> None:
    codes = [row["random_string_to_prepend"] for row in rows]
    assert len(set(codes)) == len(codes)
    for row, code in zip(rows, codes, strict=True):
        assert re.fullmatch("[A-Za-z0-9]{12}", code)
        assert row["prompt"].count(code) == 1
        assert row["target"].startswith(code)


def test_needles_and_message_numbers_are_the_matching_replies(rows: list[Row]) -> None:
    for row in rows:
        metadata = json.loads(row["metadata"])
        matching = [needle for needle in row["needles"] if needle["role"] != "demo"]
        assert len(matching) == metadata["n_needles"] == row["complexity"]
        asked = next(needle for needle in matching if needle["role"] == "relevant")
        said = row["prompt"][asked["char_start"] : asked["char_end"]]
        text = row["target"].removeprefix(row["random_string_to_prepend"])
        assert said.removeprefix("Model: ").rstrip("\n") == text
        if row["messages"]:
            assert row["messages"][metadata["desired_msg_index"]] == {"role": "assistant", "content": text}
        else:
            body = row["prompt"].rpartition("======== CONVERSATION ========\n")[2]
            turns = re.split(r"^(?:User|Model): ", body, flags=re.MULTILINE)[1:]
            assert turns[metadata["desired_msg_index"]].rstrip("\n") == text


def test_hard_distractors_keep_to_a_cap_that_length_does_not_move(rows: list[Row]) -> None:
    shares = []
    for row in rows:
        conversation = read_conversation(turns_of(row))
        form, topic, _ = parts(conversation.asked.key)
        others = [parts(reply.key) for reply in conversation.replies if reply.key != conversation.asked.key]
        hard = [other for other in others if other[0] == form or other[1] == topic]
        assert all((other[0] == form) != (other[1] == topic) for other in hard)
        if row["length"] == 32768:
            assert len(hard) == 64
        else:
            assert len(hard) <= 64
            shares.append(len(hard) / len(others))
    assert 0.4 <= sum(shares) / len(shares) <= 0.6


def test_distractors_and_matches_stand_anywhere(rows: list[Row]) -> None:
    """Hard distractors are no cluster: the mean place of theirs is the middle."""
    places = []
    for row in rows:
        conversation = read_conversation(turns_of(row))
        form, topic, _ = parts(conversation.asked.key)
        found = [parts(reply.key) for reply in conversation.replies]
        hard = [at for at, other in enumerate(found) if (other[0] == form) != (other[1] == topic)]
        places += [at / len(found) for at in hard]
    assert 0.46 <= sum(places) / len(places) <= 0.54


def test_formats_are_asked_in_equal_shares(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, cell("transcript", 2, 4096, rows=2 * len(formats())))
    asked = [sample_of(plan, index).latent["key"][0] for index in range(2 * len(formats()))]
    assert set(Counter(asked).values()) == {2}


def plan_of(folder: Path, each: Stratum) -> Plan:
    return make_plan(Recipe("mrcr", "0", 11, each.tier, (each,)), ("o200k",), folder)


def sample_of(plan: Plan, index: int) -> Any:
    return draw_sample(plan, RowPlan(plan.recipe.strata[0], index, ""))


def test_tone_is_a_third_key(folder: Path) -> None:
    found = built(folder, cell("chat", 4, 8192, rows=4, knobs=KNOBS))
    twins = 0
    for row in found:
        conversation = read_conversation(turns_of(row))
        assert " tone in this conversation" in row["question"]
        assert all(parts(reply.key)[2] for reply in conversation.replies)
        form, topic, tone = parts(conversation.asked.key)
        twins += sum(
            parts(reply.key)[:2] == (form, topic) and parts(reply.key)[2] != tone for reply in conversation.replies
        )
    assert twins


@pytest.mark.parametrize("cap", [0, 16])
def test_the_cap_is_a_knob(folder: Path, cap: int) -> None:
    (row,) = built(folder, cell("transcript", 2, 16384, rows=1, knobs=(("distractors", cap),)))
    conversation = read_conversation(turns_of(row))
    form, topic, _ = parts(conversation.asked.key)
    shared = [(parts(reply.key)[0] == form) + (parts(reply.key)[1] == topic) for reply in conversation.replies]
    assert shared.count(1) == cap


def test_short_replies_are_short(folder: Path) -> None:
    (row,) = built(folder, cell("chat", 2, 4096, rows=1, knobs=(("replies", "short"),)))
    assert max(len(reply.text) for reply in read_conversation(turns_of(row)).replies) <= 560


def test_demonstrations_give_right_replies_about_other_topics(rows: list[Row]) -> None:
    """Either reply is asked, so that the last one is no habit to learn."""
    asked = []
    for row in rows:
        if row["subtask"] == "transcript":
            examples = row["prompt"].split("======== EXAMPLE ")[1:]
            assert len(examples) == 2
            for example in examples:
                turns = re.split(r"^(?:User|Model): ", example.split("======== CONVERSATION")[0], flags=re.MULTILINE)[
                    1:
                ]
                code = re.search(r"Start your reply with (\w{12}),", turns[-2])
                assert code
                asked.append([code[1] + turns[1], code[1] + turns[3]].index(turns[-1]))
            assert re.search("Repeat the (first|second) ", examples[1])[1] == ("first", "second")[asked[-1]]  # type: ignore[index]
    assert 0.25 <= sum(asked) / len(asked) <= 0.75


def faulty(row: Row, **change: Any) -> list[str]:
    """Return what is found wrong with a changed row; what a forger can keep consistent is."""
    import hashlib

    changed = {**row, **change}
    metadata = {**json.loads(row["metadata"]), "prompt_sha256": hashlib.sha256(changed["prompt"].encode()).hexdigest()}
    return answer_faults({**changed, "metadata": json.dumps(metadata)}, stratum_of(row))


@pytest.fixture(scope="module")
def transcript(rows: list[Row]) -> Row:
    return next(
        row for row in rows if row["subtask"] == "transcript" and row["complexity"] == 8 and row["length"] == 8192
    )


def test_rows_hold_as_they_are(rows: list[Row]) -> None:
    assert all(faulty(row) == [] for row in rows)


def test_a_corrupted_ordinal_is_found(transcript: Row) -> None:
    word = re.search(r"Repeat the (\w+) ", transcript["question"])
    assert word
    other = "third" if word[1] != "third" else "fifth"
    question = transcript["question"].replace(f"the {word[1]} ", f"the {other} ", 1)
    prompt = transcript["prompt"].replace(transcript["question"], question)
    faults = "; ".join(faulty(transcript, prompt=prompt, question=question))
    assert "the text gives" in faults


def test_a_duplicated_key_is_found(transcript: Row) -> None:
    """A filler turn that asks for the same makes one matching reply too many."""
    conversation = read_conversation(turns_of(transcript))
    key = conversation.asked.key
    other = next(reply for reply in conversation.replies if reply.key != key)
    planted = transcript["prompt"].replace(f"User: {other.request}\n", f"User: Write a {key}.\n", 1)
    assert ", found 9" in "; ".join(faulty(transcript, prompt=planted))


def test_a_missing_match_is_found(transcript: Row) -> None:
    conversation = read_conversation(turns_of(transcript))
    first = conversation.matching()[0]
    planted = transcript["prompt"].replace(f"User: {first.request}\n", "User: Write a poem about nothing.\n", 1)
    assert ", found 7" in "; ".join(faulty(transcript, prompt=planted))


def test_a_near_duplicate_reply_is_found(transcript: Row) -> None:
    first, second, *_ = read_conversation(turns_of(transcript)).matching()
    double = re.sub(r"\b(\w+)$", "so", first.text.rstrip(".!?")) + "."
    planted = transcript["prompt"].replace(f"Model: {second.text}\n", f"Model: {double}\n")
    assert "matching replies 1 and 2 are nearly the same" in "; ".join(faulty(transcript, prompt=planted))


def test_words_that_two_matching_replies_share_are_found(transcript: Row) -> None:
    first, *_, last = read_conversation(turns_of(transcript)).matching()
    words = " ".join(first.text.replace("\n", " ").split(" ")[:9])
    planted = transcript["prompt"].replace(f"Model: {last.text}\n", f"Model: {last.text} {words}\n")
    assert "matching replies 1 and 8 share the words" in "; ".join(faulty(transcript, prompt=planted))


def test_a_repeated_filler_reply_is_found(transcript: Row) -> None:
    conversation = read_conversation(turns_of(transcript))
    one, other, *_ = [reply for reply in conversation.replies if reply.key != conversation.asked.key]
    planted = transcript["prompt"].replace(f"Model: {other.text}\n", f"Model: {one.text}\n")
    assert "a reply stands 2 times" in "; ".join(faulty(transcript, prompt=planted))


def test_other_planted_faults_are_found(transcript: Row, rows: list[Row]) -> None:
    code = transcript["random_string_to_prepend"]
    in_text = transcript["prompt"].replace("\nModel: ", f"\nModel: {code} ", 1)
    assert "stands 2 times" in "; ".join(faulty(transcript, prompt=in_text))
    wrong_demo = re.sub(r"(?m)^Model: (\w{12})(?=[A-Z])", r"Model: \1No. ", transcript["prompt"], count=1)
    assert "a demonstration gives a wrong reply" in "; ".join(faulty(transcript, prompt=wrong_demo))
    talk = next(row for row in rows if row["messages"])
    metadata = json.dumps({**json.loads(talk["metadata"]), "desired_msg_index": 1})
    assert any(
        "desired_msg_index" in fault for fault in answer_faults({**talk, "metadata": metadata}, stratum_of(talk))
    )
    other = [{**turn, "content": turn["content"] + " "} for turn in talk["messages"]]
    assert any("does not match its messages" in fault for fault in faulty(talk, messages=other))


@pytest.mark.parametrize(
    "profiles",
    [
        ("llama3.1", "mistral-tekken"),
        pytest.param(("o200k", "llama3.1", "gemma3", "deepseek-v3", "mistral-tekken"), marks=pytest.mark.slow),
    ],
)
def test_needles_of_real_turns_count_what_is_sent(folder: Path, profiles: tuple[str, ...]) -> None:
    """The tokens before a reply are those of the template and of all turns before it."""
    plan = make_plan(Recipe("mrcr", "0", 11, "32k", (cell("chat", 4, 4096, rows=2),)), profiles, folder)
    assert all(Stages(plan, Inline, quiet=True).build())
    for shard in plan.all_shards():
        profile, counter = shard.profile, shard.profile.counter()
        for row in read_rows(shard.path(plan.out, "data")):
            roles = tuple(turn["role"] for turn in row["messages"])
            gaps = profile.gaps(roles, "chat")
            starts, tokens = [], 0
            for gap, turn in zip(gaps, row["messages"], strict=False):
                tokens += gap
                starts.append((tokens, tokens + counter.count(turn["content"])))
                tokens = starts[-1][1]
            asked = json.loads(row["metadata"])["desired_msg_index"]
            needle = next(needle for needle in row["needles"] if needle["role"] == "relevant")
            assert (needle["token_start"], needle["token_end"]) == starts[asked]
            assert tokens + gaps[-1] + row["max_new_tokens"] == row["context_tokens"]


def test_baselines_are_what_replies_of_the_conversation_score(rows: list[Row]) -> None:
    """Over rows, the estimate agrees with the mean over every reply of the conversation."""
    real: dict[str, list[float]] = {"any_reply": [], "related_reply": []}
    said: dict[str, list[float]] = {"any_reply": [], "related_reply": []}
    for row in [row for row in rows if row["length"] == 8192]:
        conversation = read_conversation(turns_of(row))
        text = row["target"].removeprefix(row["random_string_to_prepend"])
        form, topic, _ = parts(conversation.asked.key)
        scores = [(similarity(text, reply.text), parts(reply.key)) for reply in conversation.replies]
        real["any_reply"].append(sum(value for value, _ in scores) / len(scores))
        related = [value for value, key in scores if key[0] == form or key[1] == topic]
        real["related_reply"].append(sum(related) / len(related))
        for name, values in said.items():
            values.append(json.loads(row["metadata"])["baselines"][name])
    for name, values in said.items():
        assert sum(values) / len(values) == pytest.approx(sum(real[name]) / len(values), abs=0.02)


def test_the_scorer_follows_both_published_metrics() -> None:
    text = ("A poem about yaks. " * 20).strip()
    row = {"scorer": "mrcr", "target": f"abcDEF123456{text}", "random_string_to_prepend": "abcDEF123456"}
    assert score(row, f"abcDEF123456{text}") == 1.0
    assert score(row, f"<think>abcDEF123456 no</think>\nHere: abcDEF123456{text}") == 1.0
    assert score(row, f"<think>it is abcDEF123456{text}") == 0.0
    assert mrcr(row, f"Here: abcDEF123456{text}", anywhere=False) is None
    assert mrcr(row, f"abcDEF123456{text}", anywhere=False) == 1.0
    assert mrcr(row, f"<think>well</think>\n\nabcDEF123456{text}", anywhere=False) == 1.0
    assert mrcr(row, f"  abcDEF123456{text}", anywhere=False) is None
    assert score(row, text) == score(row, "") == score(row, None) == 0.0
    half = f"abcDEF123456{text[:200]}"
    assert score(row, half) == SequenceMatcher(None, text, text[:200].strip()).ratio()
    assert mrcr(row, half, autojunk=False) == SequenceMatcher(None, text, text[:200].strip(), autojunk=False).ratio()
    assert score(row, f"abcDEF123456 wrong start abcDEF123456{text}") == 1.0


def test_near_doubles_are_told_from_kin() -> None:
    poem, other = list(written(grammar_library_streams(), Label("letter", topics()[0].name), ["long", "long"]))
    assert list(near_doubles([poem, other], 5, 0.5)) == []
    assert list(near_doubles([poem, other, poem.replace(" the ", " a ", 1)], 5, 0.5)) == [(0, 2)]


def grammar_library_streams() -> Any:
    return row_streams(plan_of(Path("unused"), cell("chat", 2, 4096)), cell("chat", 2, 4096), 0)[0]


CORPUS_TOPICS = tuple(topic.name for topic in topics()[:20])


def corpus_of(folder: Path, texts: int) -> str:
    streams = grammar_library_streams()
    labels = [Label(form, topic) for form in ("letter", "poem", "news story", "email") for topic in CORPUS_TOPICS]
    writings = [
        Writing(label.format, label.topic, "", text.replace("a", "\u00e1", 1))
        for label in labels
        for text in written(streams, label, ["short"] * texts)
    ]
    return freeze(writings, folder / "corpora")


def test_a_corpus_takes_the_place_of_the_grammars(tmp_path: Path) -> None:
    digest = corpus_of(tmp_path, 4)
    found = built(tmp_path, cell("transcript", 4, 8192, rows=2, knobs=(("corpus", digest),)))
    for row in found:
        assert json.loads(row["metadata"])["knobs"] == {"corpus": digest}
        assert not row["prompt"].isascii()
    manifest = json.loads((tmp_path / "o200k" / "manifest.json").read_text(encoding="ascii"))
    assert digest in json.dumps(manifest)


def test_a_corpus_without_enough_texts_is_refused(tmp_path: Path) -> None:
    digest = corpus_of(tmp_path, 3)
    plan = plan_of(tmp_path, cell("transcript", 4, 8192, knobs=(("corpus", digest),)))
    with pytest.raises(PoolError, match="4 texts of one format and topic are needed, the texts given have 3"):
        sample_of(plan, 0)


def test_a_corpus_that_was_changed_is_refused(tmp_path: Path) -> None:
    digest = corpus_of(tmp_path, 4)
    path = tmp_path / "corpora" / f"{digest}.parquet"
    path.rename(path.with_name("0" * 64 + ".parquet"))
    plan = plan_of(tmp_path, cell("chat", 2, 8192, knobs=(("corpus", "0" * 64),)))
    with pytest.raises(PoolError, match="does not match the digest in its name"):
        sample_of(plan, 0)


def test_a_row_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    each = cell("transcript", 2, 4096, rows=8)
    plan = plan_of(tmp_path, each)
    alone = sample_of(plan, 5)
    assert [sample_of(plan, index) for index in range(6)][5] == alone
    own, shared = row_streams(plan, each, 5)
    first, again = (plan.task(each).layout(alone, own, shared) for _ in range(2))
    assert first.placed == again.placed
    assert (first.filler.order.take(50) == again.filler.order.take(50)).all()


def test_libraries_of_other_seeds_ask_other_things(tmp_path: Path) -> None:
    first = plan_of(tmp_path, cell("chat", 2, 8192))
    other = make_plan(replace(first.recipe, seed=12), ("o200k",), tmp_path)
    assert sample_of(first, 0).key != sample_of(other, 0).key
    assert grammar_library(row_streams(other, cell("chat", 2, 8192), 0)[0], "32k", toned=False).entries


def test_strata_of_fewer_rows_than_formats_ask_different_ones(tmp_path: Path) -> None:
    asked = set()
    for length in (4096, 8192, 16384, 32768):
        plan = plan_of(tmp_path, cell("chat", 2, length, rows=16))
        asked |= {sample_of(plan, index).latent["key"][0] for index in range(16)}
    assert len(asked) > 24


def test_one_demonstration_is_announced_as_one(folder: Path) -> None:
    (row,) = built(folder, cell("transcript", 2, 8192, rows=1, shots=1))
    assert "Below are two conversations" in row["prompt"]
    assert row["prompt"].count("======== EXAMPLE ") == 1


def test_tones_are_told_apart_in_every_row(folder: Path) -> None:
    for row in built(folder, cell("chat", 2, 8192, rows=4, knobs=KNOBS)):
        conversation = read_conversation(turns_of(row))
        form, topic, tone = parts(conversation.asked.key)
        found = [parts(reply.key) for reply in conversation.replies]
        assert sum(each[:2] == (form, topic) and each[2] != tone for each in found) >= 2


def marks_of(folder: Path, subtask: str) -> tuple[Plan, Row]:
    plan = plan_of(folder, cell(subtask, 4, 8192, rows=1))
    assert all(Stages(plan, Inline, quiet=True).build())
    return plan, next(iter(read_rows(plan.all_shards()[0].path(plan.out, "data"))))


@pytest.mark.parametrize("subtask", ["transcript", "chat"])
def test_marks_are_held_to_the_sample(folder: Path, subtask: str) -> None:
    plan, row = marks_of(folder, subtask)
    sample = draw_sample(plan, plan.rows("mrcr")[0])

    def found(**change: Any) -> str:
        return "; ".join(layout_faults({**row, **change}, sample, plan, plan.profiles[0], count=True))

    def needles(**change: Any) -> list[Any]:
        return [*row["needles"][:-1], {**row["needles"][-1], **change}]

    metadata = json.loads(row["metadata"])
    texts = [row["prompt"][n["char_start"] : n["char_end"]] for n in row["needles"] if n["role"] != "demo"]
    swapped = row["prompt"].replace(texts[0], "#").replace(texts[1], texts[0]).replace("#", texts[1])
    assert found() == ""
    assert "a needle's tokens" in found(needles=needles(token_start=7))
    assert "a needle's tokens" in found(needles=needles(token_end=7))
    assert "depths" in found(needles=needles(depth=0.5))
    assert "question does not start" in found(question_start=row["prompt"].index("\n") + 1)
    assert "texts of its sample" in found(prompt=swapped)
    assert "its key is" in found(target=row["target"][:-1])
    assert "has baselines" in found(metadata=json.dumps({**metadata, "baselines": {}}))
    assert "has knobs" in found(metadata=json.dumps({**metadata, "knobs": {"tone": True}}))


def test_a_copy_of_the_asked_reply_is_found_under_any_label(transcript: Row) -> None:
    conversation = read_conversation(turns_of(transcript))
    asked = transcript["target"].removeprefix(transcript["random_string_to_prepend"])
    other = next(reply for reply in conversation.replies if reply.key != conversation.asked.key)
    planted = transcript["prompt"].replace(f"Model: {other.text}\n", f"Model: {asked} So.\n")
    assert "1 other replies are nearly the asked one" in "; ".join(faulty(transcript, prompt=planted))


def test_more_hard_distractors_than_half_are_found(transcript: Row) -> None:
    _, topic, _ = parts(read_conversation(turns_of(transcript)).asked.key)
    head, mark, body = transcript["prompt"].rpartition("======== CONVERSATION ========\n")
    planted = head + mark + re.sub(r"(?m)^(User: Write .+ about ).+\.$", rf"\1{topic}.", body)
    assert "were promised" in "; ".join(faulty(transcript, prompt=planted))


def test_distractors_that_no_library_holds_are_refused(tmp_path: Path) -> None:
    knobs = (("distractors", 256), ("replies", "short"))
    each = Stratum("mrcr", "chat", "128k", 131072, 4, 1, knobs=knobs)
    plan = plan_of(tmp_path, each)
    with pytest.raises(PoolError, match="give more formats and topics, or lower distractors"):
        plan.task(each).layout(sample_of(plan, 0), *row_streams(plan, each, 0))


@pytest.mark.parametrize("topics_given", [3, 12])
def test_a_corpus_of_one_format_is_refused(tmp_path: Path, topics_given: int) -> None:
    streams = grammar_library_streams()
    writings = [
        Writing("letter", topic, "", text)
        for topic in CORPUS_TOPICS[:topics_given]
        for text in written(streams, Label("letter", topic), ["short"] * 4)
    ]
    each = cell("chat", 2, 8192, knobs=(("corpus", freeze(writings, tmp_path / "corpora")),))
    plan = plan_of(tmp_path, each)
    with pytest.raises(PoolError, match="0 share neither"):
        plan.task(each).layout(sample_of(plan, 0), *row_streams(plan, each, 0))


def test_guesses_are_as_alike_as_the_scorer_finds_them() -> None:
    rng = Random(1)
    for size in (0, 1, 50, 199, 200, 201, 600) * 12:
        letters = rng.choice(("ab", "abcd e", "abcdefghijklmnop  ee"))
        one = "".join(rng.choices(letters, k=size))
        other = one[: size // 3] + "".join(rng.choices(letters, k=rng.choice((size, 250)))) + one[size // 2 :]
        assert guessed(one, other) == similarity(one, other)
