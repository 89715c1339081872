"""Renders the content of pages as HTML by Jinja2, with every text of a stranger escaped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from bilateral.bounds import scale_of_tag
from bilateral.explorer import charts, networks, text
from bilateral.explorer.assets import asset
from bilateral.explorer.identicon import identicon
from bilateral.explorer.neighbours import neighbours

if TYPE_CHECKING:
    from bilateral.explorer.method import MethodPage
    from bilateral.explorer.views import AccountPage, AgentPage, HomePage

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The content security policy of every page: only own files, nothing inline, and nothing from other hosts."""

_FAN: Final = 8

_PAGES: Final = (("/", "Home"), ("/method", "Method"))
"""The pages that every page links to."""


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
        "pages": _PAGES,
        "figure": text.figure,
        "identicon": identicon,
        "moment": text.moment,
        "network": networks.slug_of,
        "scale_of_tag": scale_of_tag,
        "short": text.short,
        "asset": lambda name: asset(name).path,
        "version": version("bilateral"),
        "visible": text.visible,
        "web_link": text.web_link,
    }
    return environment


@dataclass(frozen=True, slots=True)
class Frame:
    """The place of a page, for the links in it.

    Attributes:
        path: Its path.
        query: Its query, without the question mark.
        origin: The service's address, such as `https://example.org`: previews need whole addresses.
    """

    path: str
    query: str = ""
    origin: str = ""

    @property
    def json_path(self) -> str:
        """The path of the same content as JSON."""
        path = "/index.json" if self.path == "/" else f"{self.path}.json"
        return f"{path}?{self.query}" if self.query else path


def render(name: str, frame: Frame, **values: Any) -> str:
    """Return a page as HTML.

    Args:
        name: The template, such as `home`.
        frame: The place of the page.
        **values: Its content.
    """
    return _environment().get_template(f"{name}.html.j2").render(frame=frame, **values)


def render_home(frame: Frame, page: HomePage) -> str:
    """Return the first page as HTML."""
    return render("home", frame, page=page)


def render_agent(frame: Frame, page: AgentPage) -> str:
    """Return an agent's page as HTML."""
    clients = neighbours(page.edges, "server", _FAN)
    servers = neighbours(page.edges, "client", _FAN)
    return render(
        "agent",
        frame,
        page=page,
        histogram=charts.butterfly(page.as_server.distribution, page.as_client.distribution),
        graph=charts.neighbourhood(page.agent.id, clients, servers) if clients or servers else None,
    )


def render_account(frame: Frame, page: AccountPage) -> str:
    """Return an account's page as HTML."""
    return render("account", frame, page=page)


def render_method(frame: Frame, page: MethodPage) -> str:
    """Return the page that says how each figure is made, as HTML."""
    return render("method", frame, page=page)


def render_problem(frame: Frame, status: int, detail: str) -> str:
    """Return the page of a request that failed, as HTML.

    Args:
        frame: The place of the page.
        status: The HTTP status.
        detail: The sentence that says why.
    """
    return render("problem", frame, status=status, detail=detail)
