"""The Hugging Face Hub: complete releases or none, and downloads of what was released."""

from pipeline.publish.hub.dry import Line, Preview, preview
from pipeline.publish.hub.fetching import download, parse_repo
from pipeline.publish.hub.releasing import Released, release

__all__ = ["Line", "Preview", "Released", "download", "parse_repo", "preview", "release"]
