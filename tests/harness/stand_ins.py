"""Commands that the blocks of READMEs call and that are not here, as far as they can be played.

`pip` looks whether what is asked for is installed, extras included; `vllm` answers a batch from a key; `lm-eval` and
`lighteval` are the commands themselves, with a model from a key in place of one that needs weights.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT = '#!/bin/sh\nexec "{python}" "{script}" "$@"\n'
EITHER = """#!/bin/sh
case "$* " in
*"--model hf "* | *"--model vllm "*) exec "{python}" "{script}" "$@" ;;
*) exec "{real}" "$@" ;;
esac
"""


def commands(folder: Path, python: Path) -> Path:
    """Write the commands for an environment into a folder, to be first in PATH."""
    folder.mkdir()
    for name in ("pip", "vllm"):
        _write(folder / name, SCRIPT.format(python=python, script=HERE / f"{name}_command.py"))
    _write(folder / "python", f'#!/bin/sh\nexec "{python}" "$@"\n')
    _write(folder / "carrara", f'#!/bin/sh\nexec "{sys.executable}" -m pipeline "$@"\n')
    if (real := python.with_name("lm-eval")).exists():
        _write(folder / "lm-eval", EITHER.format(python=python, script=HERE / "lm_eval_model.py", real=real))
    if python.with_name("lighteval").exists():
        _write(folder / "lighteval", SCRIPT.format(python=python, script=HERE / "lighteval_model.py"))
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def environment(folder: Path, python: Path, key: Path) -> dict[str, str]:
    """Return the environment in which blocks run: these commands, then the harness's own, a key, and no network."""
    path = os.pathsep.join([str(commands(folder / "bin", python)), str(python.parent), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(HERE),
        "CARRARA_KEY": str(key),
        "HF_HOME": str(folder / "hf"),
        "HF_HUB_OFFLINE": "1",
        "MODELSCOPE_CACHE": str(folder / "cache"),
        "no_proxy": "*",
    }
