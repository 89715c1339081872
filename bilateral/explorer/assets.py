"""Files that pages load: the style sheet, scripts and fonts, with hashed names so that browsers cache them."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

_CSS: Final = "text/css; charset=utf-8"
_JAVASCRIPT: Final = "text/javascript; charset=utf-8"
_FONT: Final = "font/woff2"

_OWN: Final = {
    "style.css": _CSS,
    "app.js": _JAVASCRIPT,
    "live.js": _JAVASCRIPT,
    "network.js": _JAVASCRIPT,
    "docs.js": _JAVASCRIPT,
    "act.js": _JAVASCRIPT,
    "signing.js": _JAVASCRIPT,
    "act.css": _CSS,
    "icon.svg": "image/svg+xml",
}
_COPIED: Final = {
    "sans.woff2": _FONT,
    "mono.woff2": _FONT,
    "serif.woff2": _FONT,
    "sigma.js": _JAVASCRIPT,
    "graphology.js": _JAVASCRIPT,
    "sha3.js": _JAVASCRIPT,
    "swagger-ui-bundle.js": _JAVASCRIPT,
    "swagger-ui.css": _CSS,
}
"""Third-party files, which the set-up and builds copy from npm."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load.

    Attributes:
        name: The file's name including its hash, such as `style.0123456789ab.css`.
        body: The file's bytes.
    """

    name: str
    body: bytes
    media_type: str

    @property
    def path(self) -> str:
        """The path under which the service serves the file."""
        return f"/assets/{self.name}"


@cache
def asset(name: str) -> Asset | None:
    """Return a file by its name without the hash; None if it is a third-party file that the set-up did not copy.

    Pages work without such files: browsers use their own fonts, and the table below a graph contains its data.
    """
    folder = files("bilateral.explorer") / "static"
    place = folder / name if name in _OWN else folder / "vendor" / name
    if name in _COPIED and not place.is_file():
        return None
    body = place.read_bytes()
    if name == "style.css":
        for font in (name for name in _COPIED if name.endswith(".woff2")):
            copied = asset(font)
            # A font that no system has makes the browser use the next font family in the list.
            source = 'local("")' if copied is None else f'url({copied.path}) format("woff2")'
            body = body.replace(f'url({font}) format("woff2")'.encode(), source.encode())
    stem, _, suffix = name.rpartition(".")
    return Asset(f"{stem}.{sha256(body).hexdigest()[:12]}.{suffix}", body, {**_OWN, **_COPIED}[name])


@cache
def assets() -> dict[str, Asset]:
    """Return all files by their hashed names."""
    return {copied.name: copied for copied in map(asset, (*_OWN, *_COPIED)) if copied is not None}
