"""The version of Carrara, which manifests, locks and requests state."""

__version__ = "2.0.0"
