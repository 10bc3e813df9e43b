"""What a process of the command does not need, and is spared. Imports next to nothing, to be there before all else."""

from __future__ import annotations

import atexit
import gc
import sys

COLLECTED = (20_000, 10, 10)
"""Objects after which Python looks for cycles, in place of 700: what jobs make are large tables without any."""


def spare() -> None:
    """Look for cycles of objects less often, and not at the end, when all goes anyway; and do without pandas.

    Arrow imports pandas, where it is installed, at its first array, to know frames that are given to it. Only Python
    code that uses Carrara has frames: neither its commands nor their workers have any.
    """
    gc.set_threshold(*COLLECTED)
    atexit.register(gc.freeze)
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _WithoutPandas)


class _WithoutPandas:
    """Finds that pandas is not installed, and leaves all other modules to those who find them."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Find no module.

        Raises:
            ModuleNotFoundError: for pandas.
        """
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
