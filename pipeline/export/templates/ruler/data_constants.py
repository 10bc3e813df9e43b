"""How many tokens RULER asks for: what the rows leave free."""

import json
from pathlib import Path

TASKS = json.loads(Path(__file__).with_name("tasks.json").read_text(encoding="ascii"))
