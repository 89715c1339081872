"""Pictures of agents and accounts, made from their id: nothing is loaded from anywhere."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from markupsafe import Markup

_CELLS: Final = 6
_FILLED_BELOW: Final = 150  # of 256: three cells in five
_ACCENT_EVERY: Final = 5  # a fifth of these


def cells(seed: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the picture of an id: its background, and column, row and colour of each filled cell of six by six.

    The left half mirrors the right half, like the two sides of an agent.

    Args:
        seed: The id. The same id has the same picture.
    """
    digest = sha256(seed.encode(errors="replace")).digest()
    hue = digest[0] / 255 * 360
    plain, accent = f"hsl({hue:.0f}, 58%, 44%)", f"hsl({(hue + 42) % 360:.0f}, 68%, 58%)"
    cells = []
    for row in range(_CELLS):
        for column in range(_CELLS // 2):
            byte = digest[1 + row * _CELLS // 2 + column]
            if byte < _FILLED_BELOW:
                colour = plain if byte % _ACCENT_EVERY else accent
                cells += [(place, row, colour) for place in (column, _CELLS - 1 - column)]
    return f"hsl({hue:.0f}, 52%, 92%)", cells


def identicon(seed: str, size: int = 32) -> Markup:
    """Return the picture of an id as SVG.

    Args:
        size: The width and the height in pixels.
    """
    background, filled = cells(seed)
    paths: dict[str, str] = {}
    for column, row, colour in filled:
        paths[colour] = paths.get(colour, "") + f"M{column} {row}h1v1h-1z"
    parts = [f'<path fill="{colour}" d="{path}"/>' for colour, path in paths.items()]
    return Markup(  # noqa: S704  # numbers only
        f'<svg width="{size}" height="{size}" viewBox="0 0 {_CELLS} {_CELLS}" shape-rendering="crispEdges" '
        f'aria-hidden="true"><path fill="{background}" d="M0 0h6v6H0z"/>{"".join(parts)}</svg>'
    )
