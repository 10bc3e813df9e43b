"""The command of verifiers, `vf-eval`, as its own environment has it."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path

if __name__ == "__main__":
    run_path(str(Path(sys.executable).with_name("vf-eval")), run_name="__main__")
