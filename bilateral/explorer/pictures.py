"""Images for link previews (Open Graph): 1200 by 630 pixels, drawn on the server."""

from collections.abc import Sequence
from functools import cache, lru_cache
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from bilateral.core.values.standing import Side, Standing, Status
from bilateral.explorer.assets import asset
from bilateral.explorer.charts import cells, drawn
from bilateral.explorer.text import plain, rounded
from bilateral.index.profiles.queries import Agent

_SIZE: Final = (1200, 630)  # pixels; the size that sites display for Open Graph
_PAPER: Final = "#faf8f4"
_INK: Final = "#16181d"
_SOFT: Final = "#565c66"
_SERVER: Final = "#1f4fd8"
_CLIENT: Final = "#b4490f"
_LINE: Final = "#e6e1d8"
_FACE: Final = 168
_NAME: Final = 26  # characters that fit beside the identicon
_CACHE_SIZE: Final = 512  # pictures of 22 kB: 11 MB per process


@cache
def site_picture() -> bytes:
    """Return the image for pages that are not about a single agent, as PNG."""
    image, draw = _canvas()
    draw.text((80, 230), "Who trusts whom", _INK, _font("serif", 120))
    draw.text((84, 390), "AI agents from both sides: as servers, and as clients", _SOFT, _font("sans", 34))
    return _png(image)


def agent_picture(agent: Agent, standings: Sequence[Standing]) -> bytes:
    """Return an agent's image, as PNG."""
    by_side = {standing.side: standing for standing in standings}
    name = plain(agent.registration.name if agent.registration else None, _NAME) or f"Agent {agent.agent_id}"
    return _drawn(name, agent.id, *(_words(by_side.get(side)) for side in Side))


@lru_cache(maxsize=_CACHE_SIZE)
def _drawn(name: str, id_: str, as_server: tuple[str, str], as_client: tuple[str, str]) -> bytes:
    """Return an image with the given texts, cached because drawing takes longer than querying the texts."""
    image, draw = _canvas()
    _face(image, id_, (80, 120))
    draw.text((284, 124), name, _INK, _font("serif", 84))
    draw.text((288, 236), id_, _SOFT, _font("mono", 30))
    for texts, role, colour, left in (
        (as_server, "As a server", _SERVER, 80),
        (as_client, "As a client", _CLIENT, 640),
    ):
        draw.text((left, 330), role, colour, _font("sans", 32))
        size = 150 if texts[0].isdigit() else 76  # a figure is larger than words
        draw.text((left - 4, 510 - size), texts[0], colour, _font("serif", size))
        draw.text((left, 545), texts[1], _SOFT, _font("sans", 28))
    draw.line([(600, 340), (600, 560)], _LINE, 2)
    return _png(image)


@cache
def favicon() -> bytes:
    """Return the site's logo as an icon of 16, 32 and 48 pixels."""
    written = BytesIO()
    _mark(192).save(written, "ICO", sizes=[(16, 16), (32, 32), (48, 48)])
    return written.getvalue()


@cache
def touch_icon() -> bytes:
    """Return the site's logo on the page's background colour, 180 by 180 pixels, as PNG."""
    image = Image.new("RGB", (180, 180), _PAPER)
    mark = _mark(132)
    image.paste(mark, (24, 24), mark)
    return _png(image)


def _mark(size: int) -> Image.Image:
    """Return the logo's two halves on a transparent background, drawn at four times the size for smooth edges."""
    large = 4 * size
    image = Image.new("RGBA", (large, large), (0, 0, 0, 0))
    draw, gap = ImageDraw.Draw(image), large // 18
    draw.pieslice([(0, gap), (large - 2 * gap, large - gap)], 90, 270, _SERVER)
    draw.pieslice([(2 * gap, gap), (large, large - gap)], 270, 90, _CLIENT)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def _canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", _SIZE, _PAPER)
    draw = ImageDraw.Draw(image)
    draw.pieslice([(80, 40), (120, 80)], 90, 270, _SERVER)
    draw.pieslice([(86, 40), (126, 80)], 270, 90, _CLIENT)
    draw.text((142, 30), "Bilateral", _INK, _font("serif", 50))
    draw.line([(0, 104), (_SIZE[0], 104)], _LINE, 2)
    return image, draw


def _words(standing: Standing | None) -> tuple[str, str]:
    if standing is None:
        return "\N{EN DASH}", "no standing yet"
    words = f"{standing.raters:,} rater{'s' if standing.raters != 1 else ''}"
    if standing.status != Status.OK:
        return standing.status.replace("_", " ").capitalize(), words
    return rounded(standing.rating), f"{words}, between {rounded(standing.lower)} and {rounded(standing.upper)}"


def _face(image: Image.Image, seed: str, place: tuple[int, int]) -> None:
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
def _font(name: str, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return one of the site's fonts, or Pillow's own font if set-up did not copy it."""
    copied = asset(f"{name}.woff2")
    return ImageFont.load_default(size) if copied is None else ImageFont.truetype(BytesIO(copied.body), size)


def _png(image: Image.Image) -> bytes:
    """Return an image as PNG with few colours, to save space. Octree is six times as fast as the default method."""
    written = BytesIO()
    image.quantize(64, Image.Quantize.FASTOCTREE).save(written, "PNG")
    return written.getvalue()


POLICY: Final = (
    "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *; sandbox allow-popups"
)
"""The content security policy for an embeddable page: images only from this service, and no scripts."""

_CHARACTER: Final = 6.6
"""The width in pixels of a character of size 11. With `textLength`, text has this width in every font."""

_COLOURS: Final = {
    Status.OK: "#17704a",
    Status.THIN: "#565c66",
    Status.CONTESTED: "#8a5a00",
    Status.HELD_BACK: "#b3202e",
}


def badge(agent: str, standings: Sequence[Standing], side: str) -> str:
    """Return an agent's badge as SVG. It contains no untrusted text, and its link is relative to this service."""
    current = next((standing for standing in standings if standing.side == side), None)
    label, words, colour = f"as a {side}", "not analysed yet", _COLOURS[Status.THIN]
    if standings and current is None:
        words = "not rated yet"  # an analysis has covered the agent
    if current is not None:
        status = Status(current.status)
        raters = f"{current.raters:,} rater{'s' if current.raters != 1 else ''}"
        figure = f"{rounded(current.rating)} of 100" if status is Status.OK else status.replace("_", " ")
        words, colour = f"{figure}, {raters}", _COLOURS[status]
    left, right = (round(len(text) * _CHARACTER) + 16 for text in (label, words))
    return drawn("badge", agent, label, words, colour, left, right)


def embedded_page(agent: str, side: str) -> str:
    """Return a page that contains only an agent's badge, for frames on other sites."""
    return drawn("embedded_page", agent, side)
