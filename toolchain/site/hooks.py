"""Keeps the site off the network, and its pages free of scripts and styles of their own.

Material loads the search worker of pages on a disk from a public host, and writes small scripts into each page. The
service forbids both on all its pages (Content-Security-Policy).
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

_REMOTE = "https://unpkg.com/iframe-worker/shim"
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_RIGHT = ' style="text-align: right;"'
_OF_A_PAGE = re.compile(r"<style| style=|<script>| on[a-z]+=\"")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Move the scripts of a page into files, and replace the remote one by the copy that the build brings.

    Args:
        output: The HTML of the page.
        page: The page.
        config: The settings.

    Raises:
        ValueError: The page would load a file from the network, or has a script or style of its own.
    """
    return _own(output, page.url, config)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Do the same for a page that has no source, such as that of a missing page.

    Args:
        output_content: The text of the file.
        template_name: Its name.
        config: The settings.
    """
    return _own(output_content, template_name, config) if template_name.endswith(".html") else output_content


def _own(output: str, url: str, config: Any) -> str:
    above = "../" * url.count("/")
    folder = Path(config["site_dir"], "assets")

    def moved(script: re.Match[str]) -> str:
        name = f"page-{sha256(script[1].encode()).hexdigest()[:12]}.js"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(script[1], encoding="utf-8")
        return f'<script src="{above}assets/{name}"></script>'

    output = output.replace(_REMOTE, f"{above}assets/iframe-worker.js").replace(_RIGHT, ' align="right"')
    output = _SCRIPT.sub(moved, output)
    if 'src="http' in output or 'rel="stylesheet" href="http' in output:
        raise ValueError(f"{url} loads a file from the network")
    if own := _OF_A_PAGE.search(re.sub(r"<(code|pre)\b.*?</\1>", "", output, flags=re.DOTALL)):
        raise ValueError(f"{url} has a script or a style of its own: {own[0]!r}")
    return output
