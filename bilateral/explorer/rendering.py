"""Renders the content of pages as HTML by Jinja2, with every text of a stranger escaped."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from bilateral.bounds import scale_of_tag
from bilateral.explorer import charts, networks, text
from bilateral.explorer.identicon import identicon
from bilateral.explorer.neighbours import neighbours

if TYPE_CHECKING:
    from bilateral.explorer.views import AccountPage, AgentPage, HomePage

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The content security policy of every page: no script at all, and nothing from other hosts."""

_FAN: Final = 8
_STYLE: Final = "style.css"


@cache
def style_sheet() -> bytes:
    """Return the style sheet."""
    return (files("bilateral.explorer") / "static" / _STYLE).read_bytes()


@cache
def style_name() -> str:
    """Return the file name of the style sheet with its hash, so that browsers may keep it for ever."""
    return f"style.{sha256(style_sheet()).hexdigest()[:12]}.css"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bilateral.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "agent_path": networks.agent_path,
        "account_path": networks.account_path,
        "bar": charts.bar,
        "figure": text.figure,
        "identicon": identicon,
        "moment": text.moment,
        "network": networks.slug_of,
        "scale_of_tag": scale_of_tag,
        "short": text.short,
        "style": style_name(),
        "version": version("bilateral"),
        "visible": text.visible,
        "web_link": text.web_link,
    }
    return environment


def _render(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(**values)


def render_home(page: HomePage) -> str:
    """Return the first page as HTML.

    Args:
        page: Its content.
    """
    return _render("home.html.j2", page=page)


def render_agent(page: AgentPage) -> str:
    """Return an agent's page as HTML.

    Args:
        page: Its content.
    """
    clients = neighbours(page.edges, "server", _FAN)
    servers = neighbours(page.edges, "client", _FAN)
    return _render(
        "agent.html.j2",
        page=page,
        histogram=charts.butterfly(page.as_server.distribution, page.as_client.distribution),
        graph=charts.neighbourhood(page.agent.id, clients, servers) if clients or servers else None,
    )


def render_account(page: AccountPage) -> str:
    """Return an account's page as HTML.

    Args:
        page: Its content.
    """
    return _render("account.html.j2", page=page)


def render_method() -> str:
    """Return the page that says how each figure is made, as HTML."""
    return _render("method.html.j2")


def render_problem(status: int, detail: str) -> str:
    """Return the page of a request that failed, as HTML.

    Args:
        status: The HTTP status.
        detail: The sentence that says why.
    """
    return _render("problem.html.j2", status=status, detail=detail)
