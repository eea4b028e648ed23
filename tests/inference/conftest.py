"""The bundled tables, and tables of one-letter attributes."""

from tests.tables import bundled, letters

__all__ = ["bundled", "letters"]
