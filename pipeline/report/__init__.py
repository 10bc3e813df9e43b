"""Web pages: reports on builds and scores, and the gallery."""

from pipeline.report.builds import build_page
from pipeline.report.gallery import gallery_page
from pipeline.report.page import html_of, write_page
from pipeline.report.scores import score_page

__all__ = ["build_page", "gallery_page", "html_of", "score_page", "write_page"]
