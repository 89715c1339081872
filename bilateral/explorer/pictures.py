"""Pictures for previews of links (Open Graph): 1200 by 630 pixels, drawn on the server."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING, Final

from PIL import Image, ImageDraw, ImageFont

from bilateral.explorer.assets import asset
from bilateral.explorer.identicon import cells
from bilateral.explorer.text import figure, plain

if TYPE_CHECKING:
    from bilateral.explorer.views import AgentPage, SideView

_SIZE: Final = (1200, 630)
_PAPER: Final = "#faf8f4"
_INK: Final = "#16181d"
_SOFT: Final = "#565c66"
_SERVER: Final = "#1f4fd8"
_CLIENT: Final = "#b4490f"
_LINE: Final = "#e6e1d8"
_FACE: Final = 168
_NAME: Final = 26
_SENTENCE: Final = "Who trusts whom: AI agents as servers and as clients"


@cache
def site_picture() -> bytes:
    """Return the picture of pages that are not about one agent, as PNG."""
    image, draw = _canvas()
    draw.text((80, 230), "Who trusts whom", _INK, _font("serif", 120))
    draw.text((84, 390), "AI agents from both sides: as servers, and as clients", _SOFT, _font("sans", 34))
    return _png(image)


def agent_picture(page: AgentPage) -> bytes:
    """Return the picture of an agent, as PNG.

    Args:
        page: The content of its page.
    """
    image, draw = _canvas()
    agent = page.agent
    name = plain(agent.registration.name if agent.registration else None, _NAME) or f"Agent {agent.agent_id}"
    _face(image, agent.id, (80, 120))
    draw.text((284, 124), name, _INK, _font("serif", 84))
    draw.text((288, 236), agent.id, _SOFT, _font("mono", 30))
    for side, role, colour, left in (
        (page.as_server, "As a server", _SERVER, 80),
        (page.as_client, "As a client", _CLIENT, 640),
    ):
        _side(draw, side, role, colour, left)
    draw.line([(600, 340), (600, 560)], _LINE, 2)
    return _png(image)


def tag_of(body: bytes) -> str:
    """Return the name of a picture for caches."""
    return sha256(body).hexdigest()[:16]


def _canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return an empty picture with the mark of the site."""
    image = Image.new("RGB", _SIZE, _PAPER)
    draw = ImageDraw.Draw(image)
    draw.pieslice([(80, 40), (120, 80)], 90, 270, _SERVER)
    draw.pieslice([(86, 40), (126, 80)], 270, 90, _CLIENT)
    draw.text((142, 30), "Bilateral", _INK, _font("serif", 50))
    draw.line([(0, 104), (_SIZE[0], 104)], _LINE, 2)
    return image, draw


def _side(draw: ImageDraw.ImageDraw, side: SideView, role: str, colour: str, left: int) -> None:
    """Draw one side of an agent."""
    summary = side.summary
    draw.text((left, 330), role, colour, _font("sans", 32))
    draw.text((left - 4, 360), figure(summary.mean if summary else None), colour, _font("serif", 150))
    words = "nobody rated it yet"
    if summary:
        words = f"{summary.count:,} by {summary.counterparts:,} raters, at least {figure(summary.lower_bound)}"
    draw.text((left, 545), words, _SOFT, _font("sans", 28))


def _face(image: Image.Image, seed: str, place: tuple[int, int]) -> None:
    """Draw the picture of an id."""
    draw = ImageDraw.Draw(image)
    background, squares = cells(seed)
    x, y = place
    cell = _FACE / 6
    draw.rounded_rectangle([(x, y), (x + _FACE, y + _FACE)], 34, background)
    for column, row, colour in squares:
        inset = 3 if column in (0, 5) and row in (0, 5) else 0
        corner = x + column * cell + inset, y + row * cell + inset
        draw.rectangle([corner, (corner[0] + cell - 2 * inset, corner[1] + cell - 2 * inset)], colour)


@cache
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    """Return one of the site's fonts."""
    return ImageFont.truetype(BytesIO(asset(f"{name}.woff2").body), size)


def _png(image: Image.Image) -> bytes:
    """Return a picture as PNG with few colours: it is smaller so."""
    written = BytesIO()
    image.quantize(64).save(written, "PNG", optimize=True)
    return written.getvalue()
