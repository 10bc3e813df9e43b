"""Recall: look up what a long text states in plain words (HELMET, section 2.1 and appendix B; RULER, section 3)."""

from pipeline.tasks.recall.json_kv import JsonKV
from pipeline.tasks.recall.lists import CommonWords, FrequentWords
from pipeline.tasks.recall.niah import NIAH
from pipeline.tasks.recall.vt import VariableTracking

NOTES = """\
Lookups in long texts.
"""

TASKS = (JsonKV(), *NIAH, VariableTracking(), CommonWords(), FrequentWords())
NOTES = NOTES.strip()
