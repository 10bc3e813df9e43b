"""``python -m pipeline.metrics``: the command of ``metrics.py``."""

from __future__ import annotations

import sys

from pipeline.metrics.command import main

sys.exit(main())
