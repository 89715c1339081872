"""Renders page content as HTML with Jinja2, with all untrusted text escaped."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.currency import dollars
from bilateral.core.values.standing import Status
from bilateral.explorer import charts, text
from bilateral.explorer.accounts import AccountPage
from bilateral.explorer.agent_figures import Activity, neighbours
from bilateral.explorer.assets import asset
from bilateral.explorer.charts import environment
from bilateral.explorer.comparing import Compared, ComparePage
from bilateral.explorer.look_alikes import look_alikes, readings
from bilateral.explorer.network import ROWS, NetworkPage
from bilateral.explorer.networks import (
    account_path,
    agent_path,
    rating_path,
    ratings_path,
    slug_of,
    summary_path,
    transaction_link,
)
from bilateral.explorer.searching import ENDS, GATE, SearchPage, evidence_path, narrowed
from bilateral.explorer.views import AgentPage, HomePage
from bilateral.explorer.words import words_of
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.ratings.recent import LatestRating
from bilateral.index.standing.queries import Doubt
from bilateral.index.standing.words import reasons_of, verdict_of

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The content security policy of every page, which allows only files of this service and nothing inline."""

_FAN: Final = 8  # agents per side, each 56 pixels high

_SHARE_ANCHORS: Final = {
    "Payment proven": "payment",
    "Payment claimed": "payment",
    "Independent raters": "independent",
    "Not revoked": "shares",
    "Answered": "shares",
    "Beyond the top 5": "beyond",
}
"""The sections on the method page that explain each share."""

_PAGES: Final = (
    ("/search", "Search"),
    ("/network", "Network"),
    ("/analysis", "Analysis"),
    ("/compare", "Compare"),
    ("/method", "Method"),
)
"""The pages that every page links to."""


_FUNCTIONS: Final = (
    *(agent_path, account_path, rating_path, ratings_path, summary_path, transaction_link),
    *(text.figure, text.iso, text.mixes_alphabets, text.plain, text.rounded, text.short, text.visible, text.web_link),
    *(charts.alive_days, charts.bar, charts.identicon, charts.interval, charts.strip),
    *(dollars, readings, reasons_of, scale_of_tag, verdict_of),
)
"""The functions that templates can call by name."""


@cache
def _environment() -> Environment:
    shared = environment()
    shared.globals |= {function.__name__: function for function in _FUNCTIONS}
    shared.globals |= {
        "pages": _PAGES,
        "has_unseen": lambda text_: "<mark" in text.visible(text_),
        "moment": text.timestamp,
        "network": slug_of,
        "gate_fields": lambda end: [f"{name}{end}" for name in GATE],
        "share_anchor": _SHARE_ANCHORS.__getitem__,
        "moments": charts.time_marks,
        "alive_words": words_of("method")["states"],
        "asset": lambda name: (file := asset(name)) and file.path,
        "version": version("bilateral"),
    }
    return shared


@dataclass(frozen=True, slots=True)
class Frame:
    """A page's location and context, which the links in the page require.

    Attributes:
        query: The page's query string, without the question mark.
        origin: The service's address, such as `https://example.org`, for the absolute URLs in link previews; empty if
            unknown.
        acts: The chains on which visitors can act.
        missing: The chains whose rows are missing from the page because their server does not respond.
    """

    path: str
    query: str = ""
    origin: str = ""
    acts: frozenset[int] = frozenset()
    missing: tuple[int, ...] = ()

    @property
    def json_path(self) -> str:
        """The path of the same content as JSON."""
        path = "/index.json" if self.path == "/" else f"{self.path}.json"
        return f"{path}?{self.query}" if self.query else path


def render(name: str, frame: Frame, names: Mapping[str, str | None] | None = None, **values: Any) -> str:
    """Return a page as HTML."""
    twins, caveats = look_alikes(names or {}), getattr(values.get("page"), "doubts", {})
    template = _environment().get_template(f"{name}.html.j2")
    return template.render(frame=frame, names=names, twins=twins, doubts=caveats, **values)


def template(name: str) -> Callable[[Frame, Any], str]:
    """Return a function that renders a page from its template alone."""
    return lambda frame, page: render(name, frame, getattr(page, "names", None), page=page)


def render_home(frame: Frame, page: HomePage) -> str:
    """Return the home page as HTML."""
    boards = (page.held_back, *(board.leaders for board in page.leaders))
    leaders = {leader.id: leader.name for board in boards for leader in board}
    return render("home", frame, {**leaders, **page.names}, page=page)


def render_latest(rows: Sequence[LatestRating], names: Mapping[str, str], caveats: Mapping[str, Doubt]) -> str:
    """Return the table of the latest ratings as HTML, which replaces the table on an open page."""
    template = _environment().get_template("latest.html.j2")
    return template.render(rows=rows, names=names, doubts=caveats, twins=look_alikes(names))


def render_agent(frame: Frame, page: AgentPage) -> str:
    """Return an agent's page as HTML."""
    clients = neighbours(page.edges, "server", _FAN, page.names)
    servers = neighbours(page.edges, "client", _FAN, page.names)
    own = {page.agent.id: page.agent.registration.name if page.agent.registration else None}
    return render(
        "agent",
        frame,
        {**page.names, **own},
        page=page,
        histogram=_histogram(page),
        clients=clients,
        servers=servers,
        curve=_curve(page),
        money=_money(page.money),
        chart=charts.timeline(page.activity.server, page.activity.client, page.activity.last_day),
        today=int(time.time()) // 86_400,
        graph=charts.neighbourhood(page.agent.id, clients, servers) if clients or servers else None,
    )


def _money(flow: Activity | None) -> Markup | None:
    """Return the daily payment chart; None if there are no payments."""
    return None if flow is None else charts.money(flow.server, flow.client, flow.last_day)


def _curve(page: AgentPage) -> Markup | None:
    """Return an agent's rating as a server over time; None if there are fewer than two points."""
    scale = scale_of_tag(page.as_server.summary.tag) if page.as_server.summary else None
    if scale is None or len(page.over_time) < 2:  # noqa: PLR2004  # a line has two ends
        return None
    current = next((standing for standing in page.standings if standing.side == "server"), None)
    after = None if current is None or current.rating is None else (current.lower, current.rating, current.upper)
    return charts.over_time(page.over_time, scale, after)


def render_account(frame: Frame, page: AccountPage) -> str:
    """Return an account's page as HTML."""
    return render("account", frame, page.names, page=page, flow=_money(page.money))


def render_search(frame: Frame, page: SearchPage) -> str:
    """Return the search page as HTML."""
    names = {agent.id: agent.name for agent in page.found} | {
        agent.name: agent.label for agent in page.direct if agent.kind == "agent"
    }
    slugs = [slug_of(chain.chain_id) for chain in page.chains]
    chosen = page.fields.get("chain", slugs[0] if slugs else "")
    return render(
        "search",
        frame,
        names,
        page=page,
        chain_options=[(slug, slug) for slug in (*slugs, *([] if chosen in slugs else [chosen]))],
        ends=ENDS,
        made_of=lambda agent: evidence_path(page, agent),
        narrowed=narrowed,
    )


def render_compare(frame: Frame, page: ComparePage) -> str:
    """Return the page that compares agents as HTML."""
    names = {
        compared.agent.id: compared.agent.registration.name for compared in page.compared if compared.agent.registration
    }
    axes = {side: _axis(page, names, side) for side in ("server", "client")}
    histograms = [_histogram(compared) for compared in page.compared]
    return render("compare", frame, names, page=page, histograms=histograms, axes=axes)


def _axis(page: ComparePage, names: Mapping[str, str | None], side: str) -> Markup | None:
    """Return two agents' ratings on one axis; None if fewer than two have a rating that counts on this side."""
    rows = []
    for compared in page.compared:
        for standing in compared.standings:
            if standing.side == side and standing.status == Status.OK:
                name = names.get(compared.agent.id) or f"Agent {compared.agent.agent_id}"
                rows.append(
                    (name, text.rounded(standing.rating), standing.lower, standing.rating or 0.0, standing.upper)
                )
    return charts.axis(rows, side[0]) if len(rows) > 1 else None


def render_network(frame: Frame, page: NetworkPage, number: int) -> str:
    """Return a network's page as HTML."""
    last = max(1, -(-len(page.links) // ROWS))
    number = min(number, last)
    rows = page.links[(number - 1) * ROWS : number * ROWS]
    nodes = {node.id: node for node in page.nodes}
    ends = {end for row in rows for end in (row.source, row.target)}
    names = {end: nodes[end].name for end in ends if end in nodes}
    return render("network", frame, names, page=page, rows=rows, nodes=nodes, number=number, pages_of_links=last)


def _histogram(page: AgentPage | Compared) -> Markup:
    return charts.butterfly(page.as_server.distribution, page.as_client.distribution)


def render_docs(frame: Frame, page: Mapping[str, Any]) -> str:
    """Return the HTTP API page as HTML."""
    by_tag: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in page["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((method, path, operation))
    return render("docs", frame, page=page, by_tag=by_tag)


def render_problem(frame: Frame, status: int, detail: str, chains: Sequence[ChainProgress] = ()) -> str:
    """Return the page for a failed request as HTML."""
    return render("problem", frame, status=status, detail=detail, chains=chains)
