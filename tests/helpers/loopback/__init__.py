"""A Hub and a store on localhost that work with unmodified clients, and can be made to fail."""

from loopback.faults import Fault
from loopback.server import Hub

__all__ = ["Fault", "Hub"]
