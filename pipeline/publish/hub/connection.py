"""The Hub's own client: whether it is there, whose token it sends, and how it behaves."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.errors import HubError, adding
from pipeline.publish.hub.faults import LOG_IN

PATIENCE = 120.0
"""Seconds without a byte until a connection counts as dead; the client itself would wait for ever."""


def load_client() -> Any:
    """Return huggingface_hub.

    Raises:
        HubError: if it is not installed.
    """
    try:
        import huggingface_hub
    except ImportError as fault:
        raise HubError(f"huggingface_hub is not installed: {adding('hub')}") from fault
    return huggingface_hub


def read_token() -> str | None:
    """Return the token of the environment or of the last login, if there is one.

    Raises:
        HubError: if none can be had where one is promised, or no request can carry it.
    """
    hub = load_client()
    try:
        token = hub.get_token()
    except Exception as fault:  # a login may be renewed at this moment, and fail in many ways
        raise HubError(f"the token cannot be read ({type(fault).__name__}): {LOG_IN}") from None
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise HubError(f"the token has characters that cannot be sent: copy it again, then {LOG_IN}")
    return token or None


def quieten() -> None:
    """Leave it to errors to say what went wrong, show bars on terminals only, and wait for no server for ever."""
    hub = load_client()
    own = hub.utils.get_session()
    more = {"event_hooks": own.event_hooks, "follow_redirects": own.follow_redirects, "timeout": PATIENCE}
    hub.set_client_factory(lambda: type(own)(**more))
    hub.utils.logging.set_verbosity(hub.utils.logging.CRITICAL)
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()
