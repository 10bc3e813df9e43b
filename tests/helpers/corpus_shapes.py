"""Folders in the shapes that corpora are imported from, with generated text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

Record = dict[str, Any]
WORD_TEXT = """
    ash barrel bridge candle carpet clay copper engine fence garden harbour kettle ladder lantern letter market mill
    orchard paper quarry river rope saddle slate stone thread tower wagon window winter
"""
WORDS = WORD_TEXT.split()
NAMES = ("Aldous", "Berta", "Conrad", "Dagmar", "Edwin")
TOWNS = ("Arlow", "Brennick", "Calder", "Dunmoor", "Eastry", "Farley", "Gorse", "Hadlow", "Inver", "Jarrow")


def lines(path: Path, records: Iterable[Mapping[str, Any]], *, ascii: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=ascii) + "\n" for record in records), encoding="utf-8")
    return path


def founder(number: int) -> str:
    return f"{NAMES[number % len(NAMES)]} Vexley{number}"


class Land:
    """Makes passages about places: some name a founder, and the others are filler."""

    def __init__(self, seed: int = 1) -> None:
        self.rng, self.count = Random(seed), 0

    def prose(self, words: int = 60) -> str:
        return " ".join(self.rng.choice(WORDS) for _ in range(words)).capitalize() + "."

    def passage(self, more: str = "", words: int = 60) -> Record:
        self.count += 1
        place = f"{self.rng.choice(TOWNS)} {self.count}"
        return {
            "id": f"{self.count}",
            "title": place,
            "text": f"{self.prose(words + self.rng.randrange(-15, 16))} {more}".strip(),
        }

    def asked(self, number: int, others: int, golds: int = 1, words: int = 60) -> tuple[Record, list[Record]]:
        """Return a question and its passages, needed ones first."""
        passages = [self.passage(f"It has a sister town, number {number}.", words) for _ in range(golds - 1)]
        passages.append(self.passage(f"The town of the {number}th charter was founded by {founder(number)}.", words))
        record = {
            "question": f"Who founded the town of the {number}th charter?",
            "answers": [founder(number), founder(number).upper()],
        }
        return record, passages + [self.passage(words=words) for _ in range(others)]


def kilt(
    root: Path,
    name: str,
    questions: int,
    k: int,
    *,
    golds: int = 1,
    first: int = 0,
    words: int = 60,
    depths: int = 6,
    with_needed: bool = True,
) -> Path:
    """Write a file of HELMET: a row for each question and each place of its needed passages."""
    land, rows, depths = Land(first + k), [], depths if golds == 1 else 3
    for number in range(first, first + questions):
        record, ctxs = land.asked(number, k - golds, golds, words)
        needed, others = ctxs[:golds], ctxs[golds:]
        for depth in range(depths):
            at = round(depth / (depths - 1) * len(others))
            mixed = Random(depth).sample(ctxs, k) if golds > 1 else [*others[:at], *needed, *others[at:]]
            rows.append({**record, "ctxs": mixed, "positive_ctxs": needed if golds > 1 and with_needed else []})
    return lines(root / "kilt" / name, rows)


def helmet(root: Path, questions: int = 12, k: int = 20, words: int = 60) -> Path:
    kilt(root, f"nq-dev-multikilt_1000_k{k}_dep6.jsonl", questions, k, words=words)
    kilt(root, "nq-dev-multikilt_1000_k10_dep6.jsonl", 2, 10)
    kilt(root, "nq-train-multikilt_1000_k3_dep6.jsonl", 6, 3, first=900)
    kilt(root, f"hotpotqa-dev-multikilt_1000_k{k}_dep3.jsonl", 12, k, golds=2, first=300)
    kilt(root, "hotpotqa-train-multikilt_1000_k3_dep3.jsonl", 6, 3, golds=2, first=960)
    path = kilt(root, f"popqa_test_1000_k{k}_dep6.jsonl", 4, k, first=600)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    known = {600: 10, 601: 100, 602: 1000, 603: 100_000}
    views = {f"Who founded the town of the {number}th charter?": count for number, count in known.items()}
    lines(
        path, ({**row, "id": 1 + sorted(views).index(row["question"]), "s_pop": views[row["question"]]} for row in rows)
    )
    return root


def rerank(root: Path) -> Path:
    land, rows = Land(7), []
    for query in range(3):
        ctxs = [{**land.passage(), "label": (3, 2, 1, 0)[n % 4]} for n in range(12)]
        for ctx in ctxs:
            del ctx["title"]
        rows += [
            {"qid": f"q{query}", "query": f"which mill is number {query}", "ctxs": ctxs[d:] + ctxs[:d]}
            for d in range(3)
        ]
    lines(root / "msmarco" / "test_reranking_data_k12_dep3.jsonl", rows)
    lines(root / "msmarco" / "test_reranking_data_k4_dep3.jsonl", rows[:1])
    return root


def alce(root: Path) -> Path:
    land = Land(8)
    docs = [land.passage(f"Opened by {founder(n)}.") for n in range(4)] + [land.passage() for _ in range(6)]
    asqa = [{"question": "Who opened it?", "sample_id": "s1", "docs": docs,
             "qa_pairs": [{"short_answers": [founder(n), f"V{n}"]} for n in range(2)]}]  # fmt: skip
    qampari = [{"question": "Who opened any?", "id": "q1", "answers": [[founder(n)] for n in range(3)], "docs": docs}]
    (root / "alce").mkdir(parents=True, exist_ok=True)
    for name, data in (("asqa", asqa), ("qampari", qampari)):
        (root / "alce" / f"{name}_eval_gtr_top2000.json").write_text(json.dumps(data), encoding="utf-8")
    return root


def beir_graded(root: Path, questions: int = 10, graded: int = 12, others: int = 40) -> Path:
    """Write a BEIR folder whose questions have passages of grades 2, 1 and, once, 0."""
    land, corpus, queries, judged = Land(5), [], [], []
    for number in range(questions):
        ctxs = [land.passage(f"It has to do with the {number}th charter.") for _ in range(graded)]
        ctxs += [land.passage() for _ in range(others)]
        corpus += [{"_id": f"d{one['id']}", "title": one["title"], "text": one["text"]} for one in ctxs]
        queries.append({"_id": f"q{number}", "text": f"What has to do with the {number}th charter?"})
        judged += [f"q{number}\td{one['id']}\t{1 + n % 2}\n" for n, one in enumerate(ctxs[:graded])]
        judged.append(f"q{number}\td{ctxs[graded]['id']}\t0\n")
    lines(root / "corpus.jsonl", corpus)
    lines(root / "queries.jsonl", queries)
    (root / "qrels").mkdir(exist_ok=True)
    (root / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged), encoding="utf-8")
    return root


def beir(root: Path, questions: int = 8, others: int = 30, *, answers: bool = True) -> Path:
    land, corpus, queries, judged = Land(3), [], [], []
    for number in range(questions):
        record, ctxs = land.asked(number, others)
        corpus += [{"_id": f"d{one['id']}", "title": one["title"], "text": one["text"], "metadata": {}} for one in ctxs]
        more = {"metadata": {"answer": record["answers"][0]}} if answers else {"metadata": {}}
        queries.append({"_id": f"q{number}", "text": record["question"], **more})
        judged.append(f"q{number}\td{ctxs[0]['id']}\t1\n")
    lines(root / "corpus.jsonl", corpus)
    lines(root / "queries.jsonl", queries)
    (root / "qrels").mkdir(exist_ok=True)
    for part, kept in (("test", judged[:-3]), ("train", judged[-3:])):
        (root / "qrels" / f"{part}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(kept), encoding="utf-8")
    return root


def dpr(root: Path, questions: int = 8, others: int = 30) -> Path:
    land, test, train = Land(4), [], []
    for number in range(questions):
        record, ctxs = land.asked(number, others)
        passages = [{"title": one["title"], "text": one["text"], "passage_id": one["id"]} for one in ctxs]
        test.append(
            {
                **record,
                "positive_ctxs": passages[:1],
                "hard_negative_ctxs": passages[1:9],
                "negative_ctxs": passages[9:],
            }
        )
    for number in range(90, 95):
        record, ctxs = land.asked(number, 4)
        train.append({**record, "ctxs": ctxs[1:] + ctxs[:1]})
    root.mkdir(parents=True, exist_ok=True)
    (root / "nq-test.json").write_text(json.dumps(test), encoding="utf-8")
    lines(root / "nq-train.jsonl", train)
    return root


def documents(root: Path, count: int = 12, *, questions: bool = True) -> Path:
    land, asked = Land(5), []
    root.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        paragraphs = [land.prose(30 + number) for _ in range(40)]
        paragraphs.insert(
            7 + number, f"{land.prose(12)} The {number}th charter was signed by {founder(number)} in June."
        )
        (root / f"annals {number}.txt").write_text("\r\n\r\n".join(paragraphs) + "\r\n", encoding="utf-8")
        asked.append({"question": f"Who signed the {number}th charter?", "answers": founder(number)})
    if questions:
        lines(root / "questions.jsonl", asked)
    return root


def labelled(root: Path, labels: int = 6, texts: int = 240) -> Path:
    """Write texts with labels of unequal frequency, to show and to ask."""
    land = Land(6)
    names = [f"{WORDS[n % len(WORDS)]}_{WORDS[n // len(WORDS)]}" for n in range(labels)]
    for part, count in (("train", texts), ("test", labels * 2)):
        chosen = (names[min(n % labels, land.rng.randrange(labels))] if n >= labels else names[n] for n in range(count))
        lines(
            root / f"{part}.jsonl",
            ({"text": f"{land.prose(12)} {part} {n}?", "label": name} for n, name in enumerate(chosen)),
        )
    return root


def graded(root: Path, queries: int = 5, k: int = 60) -> Path:
    """Write a file of HELMET's re-ranking: three of every four passages have a grade above 0."""
    land, rows = Land(9), []
    for query in range(queries):
        ctxs = [{**land.passage(f"It is mill {query}."), "label": (3, 2, 1, 0)[n % 4]} for n in range(k)]
        for ctx in ctxs:
            del ctx["title"]
        rows.append({"qid": f"q{query}", "query": f"which mill is number {query}", "ctxs": ctxs})
    lines(root / "msmarco" / f"test_reranking_data_k{k}_dep3.jsonl", rows)
    return root


def several(root: Path, questions: int = 8) -> Path:
    """Write a file of ALCE: questions with three answers, each in one to three passages."""
    land, records = Land(10), []
    for number in range(questions):
        names = [founder(10 * number + n) for n in range(3)]
        docs = [land.passage(f"In part it was opened by {name}.") for name in names for _ in range(1 + number % 3)]
        docs += [land.passage() for _ in range(30)]
        pairs = [{"short_answers": [name, name.replace(" ", " de ")]} for name in names]
        asked = f"Who opened the {number}th hall?"
        records.append({"question": asked, "sample_id": f"s{number}", "docs": docs, "qa_pairs": pairs})
    (root / "alce").mkdir(parents=True, exist_ok=True)
    (root / "alce" / "asqa_eval_gtr_top2000.json").write_text(json.dumps(records), encoding="utf-8")
    return root
