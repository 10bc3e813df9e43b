"""Names for people: as much of a path as tells it from others, so that a page that is passed on shows no folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the name of each file, with as many folders in front as tell it from the others.

    >>> short_names([Path("a/x.jsonl"), Path("b/x.jsonl"), Path("b/y.jsonl")]).values()
    dict_values(['a/x.jsonl', 'b/x.jsonl', 'y.jsonl'])
    """
    left, names = list(dict.fromkeys(paths)), dict[Path, str]()
    whole = {path: path.absolute().parts for path in left}
    for count in range(1, max(map(len, whole.values()), default=0) + 1):
        ends = {path: "/".join(whole[path][-count:]) for path in left}
        times = Counter(ends.values())
        names |= {path: ends[path] for path in left if times[ends[path]] == 1}
        left = [path for path in left if path not in names]
    return {path: names.get(path, str(path)) for path in whole}


def renaming(names: Mapping[Path, str]) -> Callable[[str], str]:
    """Return a function that puts names in place of the paths in a text, but not within its words.

    >>> renaming({Path("x"): "here/x"})("exact: x:1 is no JSON")
    'exact: here/x:1 is no JSON'
    """
    if not names:
        return str
    said = {str(path): name for path, name in names.items()}
    paths = "|".join(map(re.escape, sorted(said, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{paths})(?!\w)")
    return lambda text: pattern.sub(lambda found: said[found[0]], text)
