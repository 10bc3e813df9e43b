"""The Hugging Face Hub: releases that are whole or not there, and what was released back on a disk."""

from pipeline.publish.hub.dry import Line, Preview, preview
from pipeline.publish.hub.fetching import download, parse_repo
from pipeline.publish.hub.releasing import Released, release

__all__ = ["Line", "Preview", "Released", "download", "parse_repo", "preview", "release"]
