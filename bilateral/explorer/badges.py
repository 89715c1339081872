"""Badges that agents put on their own sites: the standing and what it rests on, as a small SVG that links back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

from bilateral.core.values.standing import Standing, Status
from bilateral.explorer.networks import agent_path
from bilateral.explorer.text import rounded

POLICY: Final = (
    "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *; sandbox allow-popups"
)
"""The content security policy of a page for embedding: a picture of this service alone, and no script."""

_CHARACTER: Final = 6.6
"""The pixels that a character of 11 pixels takes: `textLength` fits the text to it in any font."""

_COLOURS: Final = {
    Status.OK: "#17704a",
    Status.THIN: "#565c66",
    Status.CONTESTED: "#8a5a00",
    Status.HELD_BACK: "#b3202e",
}


def badge(agent: str, standings: Sequence[Standing], side: str) -> str:
    """Return the badge of an agent as SVG. It has no text of a stranger, and its link is relative to this service.

    Args:
        agent: The agent's short id.
        side: `server` or `client`.
    """
    held = next((standing for standing in standings if standing.side == side), None)
    label, words, colour = f"as a {side}", "not analysed yet", _COLOURS[Status.THIN]
    if standings and held is None:
        words = "not rated yet"  # an analysis has seen the agent
    if held is not None:
        status = Status(held.status)
        raters = f"{held.raters:,} rater{'s' if held.raters != 1 else ''}"
        told = f"{rounded(held.rating)} of 100" if status is Status.OK else status.replace("_", " ")
        words, colour = f"{told}, {raters}", _COLOURS[status]
    left, right = (round(len(text) * _CHARACTER) + 16 for text in (label, words))
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="22" role="img" aria-label="{title}">'
            '<title>{title}</title><a href="{path}#deal" target="_blank">'
            '<rect width="{width}" height="22" rx="5" fill="{colour}"/>'
            '<path fill="#16181d" d="M5 0h{edge}v22H5a5 5 0 0 1-5-5V5a5 5 0 0 1 5-5z"/>'
            '<g transform="translate(8 5) scale(.5)"><path fill="#7da2ff" d="M12 1a11 11 0 0 0 0 22z"/>'
            '<path fill="#ff9d66" d="M15 1a11 11 0 0 1 0 22z"/></g>'
            '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
            '<text x="26" y="15" textLength="{first}">{label}</text>'
            '<text x="{second}" y="15" textLength="{last}">{words}</text></g></a></svg>'
        ).format(
            width=left + right + 20,
            title=f"Bilateral: {agent} {label}, {words}",
            path=agent_path(agent),
            colour=colour,
            edge=left + 15,
            first=left - 16,
            second=left + 28,
            last=right - 16,
            label=label,
            words=words,
        )
    )


def embedded_page(agent: str, side: str) -> str:
    """Return a page with nothing but the badge, for frames on other sites.

    Args:
        agent: The agent's short id.
        side: `server` or `client`.
    """
    path = agent_path(agent)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Bilateral: {escape(agent)}</title>'
        f'<a href="{escape(path)}#deal" target="_blank" rel="noopener"><img src="/embed{escape(path)}.svg?side={side}" '
        f'alt="Standing of {escape(agent)} as a {side}, by Bilateral" height="22"></a></html>'
    )
