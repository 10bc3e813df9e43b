"""What a process that commands are forked from has loaded: all modules, and the vocabulary of most small builds."""

from __future__ import annotations

import builds  # noqa: F401
from pipeline.cli import build  # noqa: F401
from pipeline.profiles import load_profile

for open_encoder in (load_profile("o200k").counter, load_profile("o200k").second):
    open_encoder()
