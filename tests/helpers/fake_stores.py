"""A store in memory for tests, which can be made to fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from pipeline.storage import objects, requests


class Faulty(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory whose calls raise the errors in `faults`, one each; `calls` lists all calls."""

    faults: ClassVar[dict[str, list[Exception]]] = {}
    calls: ClassVar[list[tuple[str, str]]] = []

    def _call(self, name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        self.calls.append((name, self._strip_protocol(path)))
        if self.faults.get(name):
            raise self.faults[name].pop(0)
        return getattr(super(), name)(path, *args, **kwargs)

    def info(self, path: str, **kwargs: Any) -> Any:
        return self._call("info", path, **kwargs)

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return self._call("cat_file", path, *args, **kwargs)

    def pipe_file(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return self._call("pipe_file", path, *args, **kwargs)

    def ls(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return self._call("ls", path, *args, **kwargs)

    @classmethod
    def times(cls, name: str) -> int:
        return sum(called == name for called, _ in cls.calls)


@contextmanager
def faulty() -> Iterator[type[Faulty]]:
    """Make ``memory://`` a new `Faulty` store, without pauses between retries."""
    store = type("OneStore", (Faulty,), {"store": {}, "pseudo_dirs": [""], "faults": {}, "calls": []})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "system", lambda url: store(skip_instance_cache=True))
        patch.setattr(requests, "PAUSES", (0.0,) * len(requests.PAUSES))
        patch.setattr(objects, "LAG", (0.0,) * len(objects.LAG))
        yield store
