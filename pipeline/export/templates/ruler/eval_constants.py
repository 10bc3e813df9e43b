"""The rule of RULER's that grades each task."""

import json
from pathlib import Path

from synthetic.constants import string_match_all, string_match_part

RULES = {"string_match_all": string_match_all, "string_match_part": string_match_part}
NAMES = json.loads(Path(__file__).with_name("tasks.json").read_text(encoding="ascii"))
TASKS = {task: {"metric_fn": RULES[rule]} for task, rule in NAMES.items()}
