"""Pictures of agents and accounts, made from their id: nothing is loaded from anywhere."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from markupsafe import Markup

_CELLS: Final = 6
_FILLED_BELOW: Final = 150
_ACCENT_EVERY: Final = 5
_ROUND_EVERY: Final = 3


def identicon(seed: str, size: int = 32) -> Markup:
    """Return a picture whose left half mirrors its right half, like the two sides of an agent.

    Args:
        seed: The id. The same id has the same picture.
        size: The width and the height in pixels.
    """
    digest = sha256(seed.encode()).digest()
    cell, hue = size / _CELLS, digest[0] / 255 * 360
    plain, accent = f"hsl({hue:.0f} 58% 44%)", f"hsl({(hue + 42) % 360:.0f} 68% 58%)"
    parts = [f'<rect width="{size}" height="{size}" fill="hsl({hue:.0f} 52% 92%)"/>']
    for row in range(_CELLS):
        for column in range(_CELLS // 2):
            byte = digest[1 + row * _CELLS // 2 + column]
            if byte >= _FILLED_BELOW:
                continue
            colour = plain if byte % _ACCENT_EVERY else accent
            radius = 0 if byte % _ROUND_EVERY else cell / 2
            parts += [
                f'<rect x="{x * cell:.2f}" y="{row * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}" '
                f'rx="{radius:.2f}" fill="{colour}"/>'
                for x in (column, _CELLS - 1 - column)
            ]
    return Markup(  # noqa: S704  # numbers only
        f'<svg width="{size}" height="{size}" viewBox="0 0 {size} {size}" aria-hidden="true">{"".join(parts)}</svg>'
    )
