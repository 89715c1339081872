"""Keeps the site off the network: Material loads the search worker of pages on a disk from a public host."""

from __future__ import annotations

from typing import Any

_REMOTE = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Replace the remote script by the copy that the build brings.

    Args:
        output: The HTML of the page.
        page: The page.
        config: The settings; MkDocs passes them by name.

    Raises:
        ValueError: The page would load another script from the network.
    """
    del config
    output = output.replace(_REMOTE, f"{'../' * page.url.count('/')}assets/iframe-worker.js")
    if 'src="http' in output or 'rel="stylesheet" href="http' in output:
        raise ValueError(f"{page.url} loads a file from the network")
    return output
