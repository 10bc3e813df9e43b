"""Published graders, written from their definitions, beside ours: where the rules coincide the scores are the same.

Where ours differ on purpose the last tests say how: no rule of ours rewards a reply that lists what it has read.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from difflib import SequenceMatcher
from math import log2
from typing import Any

import pytest

from pipeline.metrics import score, scorers_of
from pipeline.streams import stream

PREDICTIONS = 1000
Row = dict[str, Any]

CITIES = ("Oslo", "Lima", "Porto Alegre", "Quito", "Cebu City", "Bergen", "Hat Yai", "Tartu")
NAMES = ("Ann Bee Cole", "Dora Eve Finch", "Gus Hal Ives", "Jo Kim Lund")
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "se", "to")


# The definitions


def openai_mrcr(response: str, answer: str, prefix: str) -> float:
    """openai/mrcr: 0 unless the response starts with the prefix; the ratio of what follows it in both."""
    if not response.startswith(prefix):
        return 0.0
    return SequenceMatcher(None, response.removeprefix(prefix), answer.removeprefix(prefix)).ratio()


def mrcr_v2(prediction: str, target: str) -> float:
    """MRCR v2: what follows the last hash (the target's first 12 characters), blanks around both texts dropped."""
    code = target[:12]
    if code not in prediction:
        return 0.0
    return SequenceMatcher(None, target[12:].strip(), prediction.rsplit(code, 1)[1].strip()).ratio()


def ruler_all(prediction: str, references: list[str]) -> float:
    """RULER's string_match_all: the share of references that the prediction holds, whatever their case."""
    return sum(each.lower() in prediction.lower() for each in references) / len(references)


def ruler_part(prediction: str, references: list[str]) -> float:
    """RULER's string_match_part: whether any reference is held."""
    return max(float(each.lower() in prediction.lower()) for each in references)


def longbio_text(prediction: str, reference: str) -> float:
    """LongBioBench, an answer of text: it is held, whatever its case."""
    return float(reference.strip().lower() in prediction.lower())


def longbio_number(prediction: str, reference: int) -> float:
    """LongBioBench, a number: the last digits of the answer."""
    found = re.findall(r"\d+", prediction)
    return float(bool(found) and int(found[-1]) == reference)


def longbio_list(prediction: str, references: list[str]) -> float:
    """LongBioBench, a list: all are found, one after the other."""
    return float(bool(re.search(".*?".join(map(re.escape, references)), prediction, re.IGNORECASE | re.DOTALL)))


def longbio_pair(prediction: str, people: dict[str, int], apart: int) -> float:
    """LongBioBench's twodiff: exactly two people of the context are named, of ages as far apart as asked."""
    named = [age for name, age in people.items() if name.lower() in prediction.lower()]
    return float(len(named) == 2 and abs(named[0] - named[1]) == apart)


def longbio_citation(prediction: str, label: str) -> float:
    """LongBioBench's citation: the label in brackets is held."""
    return float(f"[{label}]" in prediction)


def longbio_refusal(prediction: str) -> float:
    """LongBioBench's idk, the form without the sentence: the reply holds these two words."""
    return float("not stated" in prediction.lower())


def squad(text: str) -> str:
    """SQuAD's normalisation, as in HELMET: small letters, then no punctuation, no articles, single blanks."""
    letters = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


def helmet_parsed(reply: str) -> list[str]:
    """HELMET's two views of a reply: as it is, and the line behind the first "Answer:", or the first line."""
    found = re.search(r"answer:(.*)", reply, re.IGNORECASE)
    line = (found.group(1) if found else reply.split("\n")[0]).strip()
    return [reply, re.sub(r"^answer:", "", line, flags=re.IGNORECASE).strip()]


def helmet_substring(reply: str, answers: list[str]) -> float:
    """HELMET's substring exact match: the best of both views and all answers."""
    return max(float(squad(answer) in squad(view)) for view in helmet_parsed(reply) for answer in answers)


def helmet_f1(reply: str, answers: list[str]) -> float:
    """HELMET's F1 of words: the best of both views and all answers; yes, no and noanswer are compared as wholes."""

    def f1(one: str, other: str) -> float:
        if one != other and {one, other} & {"yes", "no", "noanswer"}:
            return 0.0
        given, wanted = one.split(), other.split()
        same = sum((Counter(given) & Counter(wanted)).values())
        if not same:
            return 0.0
        precision, recall = same / len(given), same / len(wanted)
        return 2 * precision * recall / (precision + recall)

    return max(f1(squad(view), squad(answer)) for view in helmet_parsed(reply) for answer in answers)


def graphwalks(reply: str, nodes: list[str]) -> float:
    """openai/graphwalks: F1 of the list in the last line; 1 if both sets are empty, 0 where no list can be read."""
    line = reply.split("\n")[-1]
    found = re.search(r"Final Answer: ?\[(.*)\]", line)
    if found is None:
        return 0.0
    given = {each.strip() for each in found.group(1).strip("[]").split(",") if each.strip()}
    if not given and not nodes:
        return 1.0
    right = len(given & set(nodes))
    if right == 0:
        return 0.0
    precision, recall = right / len(given), right / len(set(nodes))
    return 2 * precision * recall / (precision + recall)


def longproc_partial(given: list[str], wanted: list[str]) -> float:
    """LongProc's partial accuracy: the share of leading lines that are right, without counting the first wrong one."""
    right = 0
    while right < min(len(given), len(wanted)) and given[right] == wanted[right]:
        right += 1
    return right / len(wanted)


def trec_ndcg(ranking: list[str], grades: dict[str, int]) -> float:
    """trec_eval's ndcg_cut_10: gains as they are over log2(rank + 1), by those of the best order; no document twice."""
    gains = [grades.get(one, 0) for one in dict.fromkeys(ranking)]
    ideal = sorted(grades.values(), reverse=True)
    best = sum(gain / log2(rank + 1) for rank, gain in enumerate(ideal[:10], 1))
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:10], 1)) / best


def helmet_ranking(reply: str) -> list[str]:
    """HELMET's rankings: without brackets, colons and "id", the longest run of numbers with ">" between."""
    said = "".join(letter for letter in reply if letter not in "[]:").lower().replace("id", "")
    runs = [found.group(0) for found in re.finditer(r"(\d+)(?:\s*>\s*(\d+))*", said)]
    longest = ""
    for run in runs:
        longest = run if len(run) > len(longest) else longest
    return [each.strip() for each in longest.split(">")]


# Agreement


def text(rng: Any, words: int) -> str:
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(words)).capitalize() + "."


def edited(rng: Any, given: str) -> str:
    """Return a text that is left whole, cut, doubled, mixed with another, or replaced."""
    at = rng.randrange(len(given))
    other = text(rng, 60)
    forms = (given, given[:at], given[at:], given + given[:at], given[:at] + other, other, given.replace(" ", "\n", 5))
    return str(rng.choice(forms))


@pytest.mark.parametrize("number", range(4))
def test_both_graders_of_mrcr(number: int) -> None:
    rng, starts = stream("mrcr", number), scorers_of(["mrcr=starts"])
    for _ in range(PREDICTIONS // 4):
        code = "".join(rng.choices("abcXYZ019", k=12))
        answer = code + text(rng, rng.choice([8, 60, 200]))
        row = {"scorer": "mrcr", "target": answer, "random_string_to_prepend": code}
        body = edited(rng, answer[12:])
        heads = ("", code, f" {code}", f"\n{code}", f"Here: {code}", f"{code}{body}\n{code}", f"{code} ", code.lower())
        reply = rng.choice(heads) + body + rng.choice(("", "", "\n", " "))
        assert score(row, reply, starts) == openai_mrcr(reply, answer, code)
        assert score(row, reply) == mrcr_v2(reply, answer)


def said(rng: Any, value: str) -> str:
    """Return a reply that gives one value and nothing else."""
    forms = ("{}", "{}.", "Answer: {}", "The answer is {}.", "**{}**", "I have read it all.\n{}", "Final answer: {}")
    form = rng.choice(forms)
    return str(form).format(value.upper() if rng.random() < 0.2 else value)


def test_one_value_as_ruler_and_longbio_have_it() -> None:
    rng = stream("value")
    for _ in range(PREDICTIONS):
        right = rng.choice(CITIES)
        reply = said(rng, rng.choice([right, rng.choice(CITIES)]))
        row = {"scorer": "exact", "question": "Where was Ann Bee Cole born?", "target": right, "answers": [right]}
        assert score(row, reply) == ruler_part(reply, [right]) == longbio_text(reply, right)


def test_several_values_as_ruler_and_longbio_have_them() -> None:
    rng = stream("values")
    for _ in range(PREDICTIONS):
        parts = rng.sample(CITIES, 3)
        given = rng.choice([parts, parts[::-1], parts[:2], [*parts[:2], rng.choice(CITIES)]])
        given = list(dict.fromkeys(given))
        reply = rng.choice(["; ", ", ", "\n"]).join(given)
        answer = "; ".join(parts)
        row = {"scorer": "all_in_order", "question": "Where?", "target": answer, "answers": [answer]}
        assert score(row, reply) == longbio_list(reply, parts)
        assert (ruler_all(reply, parts) == 1.0) == (set(given) == set(parts))
        if given == parts:
            assert score(row, reply) == ruler_all(reply, parts) == 1.0


def test_numbers_as_longbio_has_them() -> None:
    rng = stream("numbers")
    for _ in range(PREDICTIONS):
        right = rng.randint(1, 50)
        given = rng.choice([right, rng.randint(1, 50)])
        reply = rng.choice(["{}", "Answer: {}", "54 - 12 = {}", "The difference is {} years.", "Ages: 20, 31\n{}"])
        reply = reply.format(given)
        row = {"scorer": "last_integer", "question": "By how much?", "target": str(right), "answers": [str(right)]}
        assert score(row, reply) == longbio_number(reply, right)


def test_pairs_of_people_as_longbio_has_them() -> None:
    rng = stream("pairs")
    for _ in range(PREDICTIONS):
        people = dict(zip(NAMES, (20, 27, 41, 59), strict=True))
        right = sorted(rng.sample(NAMES, 2))
        apart = abs(people[right[0]] - people[right[1]])
        given = rng.choice([right, right[::-1], rng.sample(NAMES, 2), rng.sample(NAMES, 3), right[:1]])
        reply = rng.choice([" and ", ", "]).join(given)
        answers = [" and ".join(right), " and ".join(right[::-1])]
        row = {"scorer": "pair", "question": f"Who is {apart} years apart?", "target": answers[0], "answers": answers}
        assert score(row, reply) == longbio_pair(reply, people, apart)


def test_citations_as_longbio_has_them() -> None:
    rng = stream("citations")
    for _ in range(PREDICTIONS):
        city, label = rng.choice(CITIES), f"{rng.randint(10000, 99999)}"
        cited = rng.choice([label, f"{rng.randint(10000, 99999)}"])
        reply = rng.choice(["{} [{}]", "Answer: {} [{}]", "She lives in {} [{}]."]).format(city, cited)
        target = f"{city} [{label}]"
        row = {"scorer": "citation", "question": "Where does she live?", "target": target, "answers": [target]}
        assert score(row, reply) == longbio_citation(reply, label)


def test_pairs_of_forms_as_longbio_has_them() -> None:
    rng = stream("refusals")
    for _ in range(PREDICTIONS):
        right = rng.choice(CITIES)
        question = "Where was Ann Bee Cole born?"
        stated = {"scorer": "idk_pair", "question": question, "target": right, "answers": [right]}
        unstated = {**stated, "target": "Not stated", "answers": ["Not stated"]}
        one = said(rng, rng.choice([right, rng.choice(CITIES), "not stated"]))
        other = rng.choice(["Not stated", "The answer is not stated.", f"It is {right}.", said(rng, right)])
        ours = score(stated, one) * score(unstated, other)
        assert ours == longbio_text(one, right) * longbio_refusal(other)


def nodes_of(rng: Any, count: int) -> list[str]:
    return [f"{rng.getrandbits(40):010x}" for _ in range(count)]


def some_of(rng: Any, wanted: list[str]) -> list[str]:
    """Return some of the nodes wanted and some others, shuffled."""
    given = rng.sample(wanted, rng.randint(0, len(wanted))) + nodes_of(rng, rng.choice([0, 0, 1, 3]))
    rng.shuffle(given)
    return list(given)


def set_row(wanted: list[str], scorer: str = "members") -> Row:
    target = ", ".join(wanted) or "none"
    return {"scorer": scorer, "question": "Which nodes are they?", "target": target, "answers": [target]}


def test_sets_as_ruler_has_them() -> None:
    rng, recall = stream("ruler"), scorers_of(["members=recall"])
    for _ in range(PREDICTIONS):
        wanted = rng.choice([nodes_of(rng, rng.randint(1, 8)), rng.sample(CITIES, 3)])
        given = some_of(rng, wanted)
        reply = rng.choice(["{}", "Answer: {}", "They are {}.", "{}\n\nThat is all.", "No {} here", "[{}]"])
        reply = reply.format(rng.choice([", ", "\n", " ", ""]).join(given))
        reply = rng.choice([reply, reply.upper(), reply[: len(reply) // 2]])
        assert score(set_row(wanted), reply, recall) == ruler_all(reply, wanted)


def test_sets_as_openai_has_them() -> None:
    rng, last_line = stream("graphwalks"), scorers_of(["members=last_line"])
    seen = Counter[float]()
    for _ in range(PREDICTIONS):
        wanted = nodes_of(rng, rng.choice([0, 1, 3, 8]))
        listed = rng.choice([", ", ","]).join(some_of(rng, wanted))
        forms = ("Final Answer: [{}]", "Final Answer:[{}]", "Final Answer: {}", "final answer: [{}]", "[{}]")
        line = rng.choice([*forms[:1] * 5, *forms, "So the Final Answer: [[{}]].", "Final Answer: [{}] []"]).format(
            listed
        )
        reply = (
            rng.choice(["", "", "Let me walk.\n", f"Final Answer: [{listed}]\n"])
            + line
            + rng.choice(["", "", "", "\n"])
        )
        ours = score(set_row(wanted), reply, last_line)
        assert ours == graphwalks(reply, wanted)
        seen[ours] += 1
    assert seen[0.0] < PREDICTIONS * 3 / 4
    assert seen[1.0] > PREDICTIONS / 20


def test_values_as_helmet_has_them() -> None:
    rng = stream("helmet")
    rules = [(helmet_substring, scorers_of(["exact=subem"])), (helmet_f1, scorers_of(["exact=f1"]))]
    talk = (
        "The",
        "answer",
        "is",
        "a",
        "an",
        "no",
        "Answer:",
        "answer:",
        "yes",
        "\n",
        "Porto",
        "Cebu",
        "(",
        "...",
        "noanswer",
    )
    for _ in range(PREDICTIONS):
        answers = [rng.choice([*CITIES, "the Hat Yai", "no", "A.B.", "Yes"]) for _ in range(rng.randint(1, 2))]
        words = [rng.choice([*talk, *answers, rng.choice(CITIES).upper()]) for _ in range(rng.randint(0, 8))]
        reply = rng.choice([" ", " ", "\n", ""]).join(words)
        row = {"scorer": "exact", "question": "Which?", "target": answers[0], "answers": answers}
        for published, scorers in rules:
            assert score(row, reply, scorers) == published(reply, answers)


def test_lists_of_nodes_by_f1_wherever_they_stand() -> None:
    rng = stream("members")
    for _ in range(PREDICTIONS):
        wanted = nodes_of(rng, rng.randint(0, 8))
        given = some_of(rng, wanted)
        line = f"Final Answer: [{', '.join(given)}]"
        assert score(set_row(wanted), line) == graphwalks(line, wanted)
        forms = ("\n".join(given), ", ".join(given), " ".join(given) + ".", f"The nodes are {' and '.join(given)}.")
        if given:
            assert score(set_row(wanted), rng.choice(forms)) == graphwalks(line, wanted)


def test_routes_as_longproc_has_them() -> None:
    rng = stream("routes")
    for _ in range(PREDICTIONS):
        wanted = nodes_of(rng, rng.randint(1, 16))
        right = rng.randint(0, len(wanted))
        given = wanted[:right] + nodes_of(rng, rng.randint(0, len(wanted) - right))
        reply = rng.choice([", ", "\n", " -> "]).join(given)
        assert score(set_row(wanted, "route"), reply) == longproc_partial(given, wanted)


def ranking_row(grades: dict[str, int]) -> Row:
    ranks = [[one for one in grades if grades[one] == grade] for grade in sorted({*grades.values()}, reverse=True)]
    key = ">".join("=".join(rank) for rank in ranks)
    return {"scorer": "ndcg", "question": "Which?", "target": key, "answers": [key]}


def graded_of(rng: Any) -> tuple[dict[str, int], list[str]]:
    """Return what documents are worth, in grades or in places, and a ranking of some of them and of others."""
    numbers = [str(number) for number in rng.sample(range(10_000, 100_000), 50)]
    size = rng.choice((6, 10, 30))
    grades = {one: 3 - at % 3 if size == 30 else size - at for at, one in enumerate(numbers[:size])}
    return grades, rng.sample(numbers[: size + 8], rng.randint(1, 12))


def test_rankings_as_trec_eval_has_them() -> None:
    rng = stream("rankings")
    for _ in range(PREDICTIONS):
        grades, ranking = graded_of(rng)
        reply = rng.choice(("{}", "Ranking: {}", "The best are these:\n\n{}")).format(
            rng.choice((" > ", ">", ", ", "\n", "] > [")).join(ranking)
        )
        assert score(ranking_row(grades), reply) == pytest.approx(trec_ndcg(ranking, grades))


def test_rankings_read_as_helmet_reads_them() -> None:
    rng, rules = stream("helmet"), scorers_of(["ndcg=longest"])
    for _ in range(PREDICTIONS):
        grades, ranking = graded_of(rng)
        parts = []
        for _ in range(rng.randint(1, 4)):
            some = rng.choices(ranking, k=rng.randint(1, 12))
            joined = rng.choice((" > ", ">", ", ", " >\n", " > ID", "] > [")).join(some)
            parts.append(rng.choice(("{}", "Ranking: {}", "[{}]", "ID: {}", "of 3 grades {}.")).format(joined))
        reply = rng.choice(("\n", " ", " and ")).join(parts)
        wanted = trec_ndcg(helmet_ranking(reply), grades)
        assert score(ranking_row(grades), reply, rules) == pytest.approx(wanted)


# Where ours differ on purpose


def test_a_number_that_stands_twice_keeps_both_places() -> None:
    row = ranking_row({"11111": 2, "22222": 1})
    reply = "11111 > 11111 > 22222"
    assert (
        score(row, reply, scorers_of(["ndcg=longest"])) == trec_ndcg(["11111", "22222"], {"11111": 2, "22222": 1}) == 1
    )
    assert score(row, reply) < 1


def test_listing_everything_is_rewarded_by_containment_and_not_by_us() -> None:
    everything = ", ".join(CITIES)
    row = {"scorer": "exact", "question": "Where was she born?", "target": "Lima", "answers": ["Lima"]}
    assert ruler_part(everything, ["Lima"]) == longbio_text(everything, "Lima") == 1.0
    assert score(row, everything) == 0.0
    both = {"scorer": "all_in_order", "question": "Where?", "target": "Oslo; Quito", "answers": ["Oslo; Quito"]}
    assert ruler_all(everything, ["Oslo", "Quito"]) == longbio_list(everything, ["Oslo", "Quito"]) == 1.0
    assert score(both, everything) == 0.0


def test_a_part_of_several_values_is_no_answer() -> None:
    row = {"scorer": "all_in_order", "question": "Where?", "target": "Oslo; Quito", "answers": ["Oslo; Quito"]}
    assert ruler_all("Oslo", ["Oslo", "Quito"]) == 0.5
    assert score(row, "Oslo") == 0.0


def test_the_last_lines_are_the_answer_whoever_is_named_before() -> None:
    people = dict(zip(NAMES, (20, 27, 41, 59), strict=True))
    answers = [f"{NAMES[0]} and {NAMES[2]}", f"{NAMES[2]} and {NAMES[0]}"]
    row = {"scorer": "pair", "question": "Who is 21 years apart?", "target": answers[0], "answers": answers}
    reply = f"I began with {NAMES[3]}.\n{NAMES[0]}\n{NAMES[2]}"
    assert longbio_pair(reply, people, 21) == 0.0
    assert score(row, reply) == 1.0


def test_parts_of_words_and_denials_are_no_answers() -> None:
    row = {"scorer": "exact", "question": "Where was she born?", "target": "Lima", "answers": ["Lima"]}
    for reply in ("Limassol", "not Lima"):
        assert longbio_text(reply, "Lima") == 1.0
        assert score(row, reply) == 0.0


def test_the_right_source_of_a_wrong_value_is_no_citation() -> None:
    row = {"scorer": "citation", "question": "Where?", "target": "Oslo [12345]", "answers": ["Oslo [12345]"]}
    assert longbio_citation("Lima [12345]", "12345") == 1.0
    assert score(row, "Lima [12345]") == 0.0


def test_reasoning_is_dropped_before_the_code_is_looked_for() -> None:
    row = {"scorer": "mrcr", "target": "abcdefghijklThe end.", "random_string_to_prepend": "abcdefghijkl"}
    reply = "<think>Which one?</think>\n\nabcdefghijklThe end."
    assert openai_mrcr(reply, row["target"], "abcdefghijkl") == 0.0
    assert score(row, reply) == score(row, reply, scorers_of(["mrcr=starts"])) == 1.0


def test_listing_all_nodes_is_rewarded_by_containment_and_not_by_us() -> None:
    rng = stream("everything")
    everything = nodes_of(rng, 100)
    reply = ", ".join(everything)
    assert ruler_all(reply, everything[:4]) == 1.0
    assert score(set_row(everything[:4]), reply, scorers_of(["members=recall"])) == 1.0
    assert score(set_row(everything[:4]), reply) == pytest.approx(2 * 0.04 / 1.04)


def test_nodes_behind_the_end_of_a_route_cost() -> None:
    wanted = nodes_of(stream("behind"), 4)
    reply = ", ".join([*wanted, *nodes_of(stream("more"), 4)])
    assert longproc_partial(reply.split(", "), wanted) == 1.0
    assert score(set_row(wanted, "route"), reply) == 0.5


def test_an_empty_set_has_no_string_to_look_for_and_must_be_said_to_be_empty() -> None:
    for quirks in ([], ["members=recall"]):
        assert score(set_row([]), "There are none.", scorers_of(quirks)) == 1.0
        assert score(set_row([]), "Final Answer: []", scorers_of(quirks)) == 1.0
        assert score(set_row([]), "", scorers_of(quirks)) == 0.0
        assert score(set_row([]), "Final Answer: [4c007d0c94]", scorers_of(quirks)) == 0.0
    assert score(set_row([]), "Final Answer: []", scorers_of(["members=last_line"])) == 1.0
    assert score(set_row([]), "", scorers_of(["members=last_line"])) == 0.0
