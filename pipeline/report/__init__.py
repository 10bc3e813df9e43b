"""Pages for a browser: of a build, and of predictions held against it."""

from pipeline.report.builds import build_page
from pipeline.report.page import html_of, write_page
from pipeline.report.scores import score_page

__all__ = ["build_page", "html_of", "score_page", "write_page"]
