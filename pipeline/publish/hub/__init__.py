"""The Hugging Face Hub: atomic releases, and downloads of what was released."""

from pipeline.publish.hub.releasing import (
    FileAction,
    Preview,
    Released,
    check_login,
    download,
    parse_repo,
    preview,
    release,
)

__all__ = ["FileAction", "Preview", "Released", "check_login", "download", "parse_repo", "preview", "release"]
