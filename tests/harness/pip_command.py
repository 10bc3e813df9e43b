"""`pip install`: nothing is installed; what is not there, at its version and with what its extras need, is an error."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement


def lacking(wanted: Requirement) -> str:
    """Return what is wrong with what is installed of a requirement; nothing if it is there."""
    try:
        found = distribution(wanted.name)
    except PackageNotFoundError:
        return f"{wanted} is not installed"
    if not wanted.specifier.contains(found.version, prereleases=True):
        return f"{wanted} is not {found.version}"
    offered = found.metadata.get_all("Provides-Extra") or []
    for extra in wanted.extras:
        if extra not in offered:
            return f"{wanted.name} has no extra {extra}"
        for line in found.requires or ():
            needed = Requirement(line)
            here = needed.marker is None or needed.marker.evaluate({"extra": extra})
            always = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if here and not always and (fault := lacking(needed)):
                return f"{wanted}: {fault}"
    return ""


if __name__ == "__main__":
    assert sys.argv[1] == "install"
    faults = [fault for each in sys.argv[2:] if (fault := lacking(Requirement(each)))]
    sys.exit("\n".join(faults) or None)
