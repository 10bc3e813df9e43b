"""Recall: look up what a long text states in plain words (HELMET, section 2.1 and appendix B; RULER, section 3)."""

from pipeline.tasks.recall.json_kv import JsonKV

NOTES = """\
Lookups in long texts.
"""

TASKS = (JsonKV(),)
NOTES = NOTES.strip()
