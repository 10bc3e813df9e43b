"""A Hub on the loopback that unmodified clients accept, and that fails when it is told to."""

from loopback.faults import Fault
from loopback.server import Hub

__all__ = ["Fault", "Hub"]
