"""The Hugging Face Hub: atomic releases, and downloads of what was released."""

from pipeline.publish.hub.releasing import Line, Preview, Released, check_login, download, parse_repo, preview, release

__all__ = ["Line", "Preview", "Released", "check_login", "download", "parse_repo", "preview", "release"]
