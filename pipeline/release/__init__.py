"""From release to release: freeze, extend, rebuild, re-cut."""
