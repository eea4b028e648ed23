"""Headers that every reply has: no scripts, no frames, no guessing of kinds, nothing told elsewhere, nothing kept."""

from __future__ import annotations

from collections.abc import Mapping

SAFE_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": ("default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
    "Cache-Control": "no-store",
}
