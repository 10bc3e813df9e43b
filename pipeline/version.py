"""The version of Carrara, which manifests, locks and requests state."""

__version__ = "3.0.0"
