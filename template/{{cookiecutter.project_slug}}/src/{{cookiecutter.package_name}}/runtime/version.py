"""The runtime's own version: it moves with the template's CHANGELOG, not with the project's."""

__version__ = "0.1.0"
