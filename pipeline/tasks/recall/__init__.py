"""Recall: look up what a long text states in plain words (HELMET, section 2.1 and appendix B; RULER, section 3)."""

from pipeline.tasks.recall.json_kv import JsonKV
from pipeline.tasks.recall.lists import CommonWords, FrequentWords
from pipeline.tasks.recall.niah import NIAH, in_documents
from pipeline.tasks.recall.register import in_register, pairs_in
from pipeline.tasks.recall.vt import VariableTracking

REGISTERED = ("niah_s1", "niah_mk1", "niah_mk2", "niah_mk3", "niah_mv", "niah_mq")
"""The needles that can be asked for in several languages."""
NOTES = """\
Lookups: a model must find all that a long text states in plain words, and nothing that resembles it. `json_kv` asks for
one value of a JSON object where some keys begin alike. The `niah` tasks ask for codes filed under keys, among prose,
noise or other codes, plus keys sharing a word with the one asked for. `vt` asks which variables hold a number after a
program of interleaved chains; a twin starts with the same number and loses it. `cwe` and `fwe` ask for the most
frequent words of a list, in which other words are frequent for a stretch. The tasks are those of RULER and HELMET's
recall category, remade; with the knobs of the recipe `ruler` they have RULER's settings.
"""

FORMS = {"json_kv": pairs_in, **{task.subtask: in_register(task) for task in NIAH if task.subtask in REGISTERED}}
TASKS = (JsonKV(), *map(in_documents, NIAH), VariableTracking(), CommonWords(), FrequentWords())
