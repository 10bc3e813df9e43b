"""The Hugging Face Hub: atomic releases, and downloads of what was released."""

from pipeline.publish.hub.releasing import Line, Preview, Released, download, parse_repo, preview, release

__all__ = ["Line", "Preview", "Released", "download", "parse_repo", "preview", "release"]
