"""What a process of the command does not need, and is spared. Imports next to nothing, to be there before all else."""

from __future__ import annotations

import atexit
import gc
import sys

COLLECTED = (20_000, 10, 10)
"""Objects after which Python looks for cycles, in place of 700: what jobs make are large tables without any."""
_SPARED: list[bool] = []


def tune_startup() -> None:
    """Look for cycles of objects less often, and not at the end, when all goes anyway; and make arrays without pandas.

    Both the command and its workers call this; Python code that uses Carrara does not.
    """
    gc.set_threshold(*COLLECTED)
    atexit.register(gc.freeze)
    _SPARED.append(True)
    if "pyarrow" in sys.modules:
        without_frames()


def without_frames() -> None:
    """Make Arrow's first array now, in a process that is spared, as if there were no pandas; who loads Arrow calls it.

    Arrow tries to import pandas at its first array, once, to know frames that are given to it. Nobody gives it any in
    these processes, and pandas is slow to start. All others, and Arrow where it must make a frame, find pandas as ever.
    """
    if not _SPARED or "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        sys.modules["pyarrow"].array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """Finds that pandas is not there, and leaves all other modules to those who find them."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Find no module.

        Raises:
            ModuleNotFoundError: for pandas.
        """
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
