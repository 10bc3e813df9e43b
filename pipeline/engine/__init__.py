"""Running jobs on any executor. Jobs are idempotent, so a broken pool is replaced to finish the remaining jobs."""

from pipeline.engine.collecting import uncollected
from pipeline.engine.mark import NAME as MARK
from pipeline.engine.running import IN_FLIGHT, LIVES, Inline, Kept, Watched, processes, run

__all__ = ["IN_FLIGHT", "LIVES", "MARK", "Inline", "Kept", "Watched", "processes", "run", "uncollected"]
