"""A Hub and a store on the loopback that unmodified clients accept, and that fail when they are told to."""

from loopback.faults import Fault
from loopback.server import Hub

__all__ = ["Fault", "Hub"]
