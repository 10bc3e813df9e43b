"""The tokens that RULER asks for in each task: those that its rows leave free."""

import json
from pathlib import Path

TASKS = json.loads(Path(__file__).with_name("tasks.json").read_text(encoding="ascii"))
