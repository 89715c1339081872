"""The agents that a search finds, with the ratings, words and figures that a page displays."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from bilateral.core.identifiers import global_agent_id
from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.bounds import scale_of_tag
from bilateral.core.values.feedback import PAID_TAGS
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.tables import READ_FILES, agent_file
from bilateral.index.log.tables import registry
from bilateral.index.payments.tables import payment
from bilateral.index.ratings.queries import RatingSummary
from bilateral.index.ratings.tables import summary
from bilateral.index.reading.prepared import Prepared, listed, one_of
from bilateral.index.reading.registries import Registries, Wide
from bilateral.index.search.filters import AgentSearch, Gate, Order, words_of
from bilateral.index.search.gates import figures, is_of_summaries, passes, rating_columns, ratings, source
from bilateral.index.search.tables import KEY, WITH_FILES
from bilateral.index.standing.queries import statuses

Key: TypeAlias = tuple[int, str, int]
"""An agent's chain, identity registry and id."""

_DESCRIPTION: Final = 300
"""The maximum number of characters in a description in search results."""

_READ: Final = 2_000
"""The number of characters at the start of a description that are searched for a snippet's words."""

_BEFORE: Final = 50  # characters around a match: two lines of a card
_AFTER: Final = 90  # longer than the text before, because words after a match explain it better
_SERVICES: Final = 4  # services that fit into a row
_MOST: Final = 1_000
"""The maximum number of services and capabilities to read for a page of agents."""

_MICROS: Final = 1_000_000  # millionths of a dollar
_PAYMENTS: Final = 100
"""The number of an account's newest payments to examine, because some may be to other agents with this wallet."""

_TAGS: Final = ("", *PAID_TAGS, *(tag for tag in STANDARD_TAGS if scale_of_tag(tag) is not None))
"""The tags whose ratings are displayed. Anyone can rate an agent under any number of other tags."""

_TOKEN: Final = re.compile(r"\w+")


def is_listed(columns: Any, *names: str) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that each column has one of the values in the parameter with the column's name."""
    return [columns[name].in_(sa.bindparam(name, expanding=True)) for name in names]


def rows_about(connection: sa.Connection, statement: sa.Select[Any], agents: Iterable[Key], **values: Any) -> list[Any]:
    """Return a statement's rows that are about the given agents. Conditions from `is_listed` may match others too."""
    requested = set(agents)
    lists = {name: sorted(set(column)) for name, column in zip(KEY, zip(*requested, strict=True), strict=True)}
    return [row for row in connection.execute(statement, lists | values) if (row[0], row[1], int(row[2])) in requested]


@dataclass(frozen=True, slots=True)
class MatchedRating:
    """The ratings with which an agent passed a search's first gate.

    Attributes:
        registry: The registry that contains the ratings.
        count: The number of ratings.
        counterparts: The number of distinct clients (or servers) that gave the ratings.
        mean: The mean value.
        lower_bound: The lower bound of the agent's value at 95 % confidence; None for a tag without a scale.
    """

    registry: str
    tag: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float | None


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent that a search found. Its name and description are untrusted text.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id that is unique across registries.
        identity_registry: The address of the agent's identity registry.
        agent_id: The agent's token id.
        owner: The owner's address.
        wallet: The address that receives the agent's payments; None if there is none.
        name: The agent's name; None if the agent has no file.
        description: The beginning of the agent's description.
        active: True if the file states that the agent is active; None if unspecified.
        x402_support: True if the file states that the agent accepts x402 payments.
        registered_at: The time of the agent's registration, in Unix seconds.
        updated_at: The time of the agent's last on-chain change, in Unix seconds.
        relevance: The number of query words that begin a word in the name; 0 without query text.
        rating: The ratings with which the agent passed the first gate; None if there is no gate.
        status: The status of the agent's standing on the first gate's side: `ok`, `thin`, `contested` or `held_back`,
            which means that you should not pay the agent; None until an analysis includes the agent.
        standing: The lower bound of the agent's standing.
        reason: The code of the main reason for the agent's standing.
        standing_rating: The standing as a rating from 0 to 100, as displayed on pages; None if there is none.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: Wide
    owner: str
    wallet: str | None
    name: str | None
    description: str | None
    active: bool | None
    x402_support: bool | None
    registered_at: int
    updated_at: int
    relevance: int
    rating: MatchedRating | None
    status: str | None = None
    standing: float | None = None
    reason: str | None = None
    standing_rating: float | None = None


def agents_of_rows(
    connection: sa.Connection, search: AgentSearch, rows: Sequence[sa.Row[Any]]
) -> tuple[FoundAgent, ...]:
    """Return the agents in a search's rows, with their ratings for the first gate and their standings."""
    if not rows:
        return ()
    keys = [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows]
    values, sizes = listed(KEY, zip(*keys, strict=True))
    details = {row[:3]: row[3:] for row in _details(*sizes).all(connection, values)}
    ratings_of = matched_ratings(connection, search.gates[0], search.ranking, keys) if search.gates else {}
    standings = statuses(connection, keys, search.rated_side.value)
    agents = []
    for key, row in zip(keys, rows, strict=True):
        owner, wallet, registered_at, updated_at, *texts = details[key]
        fields: Any = (
            *(f"{key[0]}:{key[2]}", global_agent_id(*key), *key, owner, wallet, *texts),
            *(registered_at, updated_at, row.relevance, ratings_of.get(key), *standings.get(key, ())),
        )
        agents.append(FoundAgent(*fields))
    return tuple(agents)


@lru_cache
def _details(*sizes: int) -> Prepared:
    agent, read = agent_tables.agent, files.registration_file.c
    texts = read.name, sa.func.substr(read.description, 1, _DESCRIPTION).label("description")
    return Prepared(
        sa.select(
            *(agent.c[name] for name in (*KEY, "owner", "wallet", "registered_at", "updated_at")),
            *(*texts, read.active, read.x402_support),
        )
        .select_from(WITH_FILES)
        .where(*(one_of(name, agent.c[name], size) for name, size in zip(KEY, sizes, strict=True)))
    )


def matched_ratings(
    connection: sa.Connection, gate: Gate, order: Order, agents: Sequence[Key]
) -> dict[Key, MatchedRating]:
    """Return each agent's ratings that pass a gate and rank highest in the given sort order."""
    values, (most_chains, most_identities, most_ids) = listed(KEY, zip(*agents, strict=True))
    addresses = [row[0] for row in _addresses(most_chains, most_identities).all(connection, values)]
    passing: Iterable[Sequence[Any]]
    if is_of_summaries(gate):
        more_values, (most_registries,) = listed(["registry"], [addresses])
        values |= {**more_values, "side": gate.summed_side, "tag": gate.tag}
        rows = _summaries(most_chains, most_registries, most_ids).all(connection, values)
        passing = [row for row in rows if passes(gate, *row[5:])]
    else:
        # With the registries as a condition, the rows are found by their key.
        columns = source(gate).c
        chains, _, ids = (sorted(set(column)) for column in zip(*agents, strict=True))
        conditions = columns.chain_id.in_(chains), columns.registry.in_(addresses), columns.agent_id.in_(ids)
        passing = connection.execute(ratings(gate, *conditions))
    best: dict[Key, MatchedRating] = {}
    for chain_id, identity, agent_id, address, tag, count, counterparts, mean, bound in passing:
        numbers = int(count), int(counterparts), float(mean), None if bound is None else float(bound)
        rating, key = MatchedRating(address, tag, *numbers), (chain_id, identity, int(agent_id))
        if key not in best or _merit(rating, order) > _merit(best[key], order):
            best[key] = rating
    return best


def _merit(rating: MatchedRating, order: Order) -> tuple[Any, ...]:
    bound = -1.0 if rating.lower_bound is None else rating.lower_bound
    first = {Order.MEAN: rating.mean, Order.ACTIVITY: float(rating.count)}.get(order, bound)
    return first, bound, rating.count, rating.registry, rating.tag


@lru_cache
def _addresses(*sizes: int) -> Prepared:
    names = ("chain_id", "identity_registry")
    is_of_identity = (one_of(name, registry.c[name], size) for name, size in zip(names, sizes, strict=True))
    return Prepared(sa.select(registry.c.address).where(*is_of_identity).distinct())


@lru_cache
def _summaries(*sizes: int) -> Prepared:
    """Return the statement for the rating summaries of agents for a `side` and `tag`, in the form of `ratings`."""
    columns, names = summary.c, ("chain_id", "registry", "agent_id")
    return Prepared(
        sa.select(*rating_columns(summary), *figures(columns)).where(
            registry.c.chain_id == columns.chain_id,
            registry.c.address == columns.registry,
            *(columns[name] == sa.bindparam(name, type_=columns[name].type) for name in ("side", "tag")),
            *(one_of(name, columns[name], size) for name, size in zip(names, sizes, strict=True)),
        )
    )


@dataclass(frozen=True, slots=True)
class Snippet:
    """The place in a registration file that matches a word of the search. All texts are untrusted.

    Attributes:
        place: `description`, `service`, or the kind of a capability, such as `mcp_tool`.
        before: The text before the word.
        after: The text after the word.
    """

    place: str
    before: str
    word: str
    after: str


@dataclass(frozen=True, slots=True)
class RowDetails:
    """The words and figures displayed with an agent in search results.

    Attributes:
        rating: The agent's rating summary with the most raters, among tags with a scale; None if there is none.
        services: The kinds of the agent's first services, which are untrusted text.
        last_paid: The amount of the newest payment to the agent, in dollars; None if no payment is known.
        snippet: The place that matches a word of the search; None if only the name or nothing matches.
    """

    rating: RatingSummary | None
    services: tuple[str, ...]
    last_paid: Decimal | None
    snippet: Snippet | None


def row_details(
    connection: sa.Connection, registries: Registries, agents: Sequence[FoundAgent], text: str | None, side: str
) -> dict[str, RowDetails]:
    """Return the words and figures displayed with agents in search results, keyed by the agents' short ids."""
    if not agents:
        return {}
    keys = {agent.id: (agent.chain_id, agent.identity_registry, int(agent.agent_id)) for agent in agents}
    file_of = {(row[0], row[1], int(row[2])): row for row in rows_about(connection, _FILES, keys.values())}
    contents = sorted({row.content_hash for row in file_of.values()})
    services = _entries(connection, files.registration_service, ("name",), contents)
    requested = tuple(words_of([text]))
    capabilities = _entries(connection, files.registration_capability, ("kind", "value"), contents) if requested else {}
    ratings_of = _ratings(connection, registries, keys, side)
    details = {}
    for agent in agents:
        file = file_of.get(keys[agent.id])
        content, description = (None, "") if file is None else (file.content_hash, file.description)
        names = [name for (name,) in services.get(content, ())]
        entries = [("service", name) for name in names] + list(capabilities.get(content, ()))
        details[agent.id] = RowDetails(
            ratings_of.get(agent.id),
            tuple(dict.fromkeys(names))[:_SERVICES],
            _last_paid(connection, agent) if agent.x402_support else None,
            _snippet(requested, description, entries),
        )
    return details


_FILES: Final = (
    sa.select(
        *(agent_file.c[name] for name in KEY),
        files.file.c.content_hash,
        sa.func.substr(files.registration_file.c.description, 1, _READ).label("description"),
    )
    .select_from(READ_FILES)
    .where(*is_listed(agent_file.c, *KEY))
)


def _entries(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], contents: Sequence[bytes]
) -> dict[bytes | None, list[Any]]:
    """Return the entries of files, by the hash of the file's content."""
    content_hash = table.c.content_hash
    query = sa.select(content_hash, *(table.c[name] for name in names)).where(content_hash.in_(contents))
    entries: dict[bytes | None, list[Any]] = defaultdict(list)
    for content, *entry in connection.execute(query.order_by(content_hash, table.c.position).limit(_MOST)):
        entries[content].append(tuple(entry))
    return entries


def _ratings(
    connection: sa.Connection, registries: Registries, agents: dict[str, Key], side: str
) -> dict[str, RatingSummary]:
    """Return the summary with the most raters for each agent, considering only tags with a scale."""
    of_registry = {
        (chain_id, address, agent_id): id_
        for id_, (chain_id, identity, agent_id) in agents.items()
        for address in registries.key(chain_id, agent_id, identity).registries
    }
    columns, key = summary.c, ("chain_id", "registry", "agent_id")
    lists = zip(key, zip(*of_registry, strict=True), strict=True)
    query = sa.select(*(columns[name] for name in (*key, "tag")), *figures(columns)).where(
        *(columns[name].in_(sorted(set(values))) for name, values in lists),
        *(columns.side == side, columns.tag.in_(_TAGS)),
    )
    best: dict[str, RatingSummary] = {}
    for chain_id, address, agent_id, tag, count, counterparts, mean, bound in connection.execute(query):
        id_ = of_registry.get((chain_id, address, int(agent_id)))
        if id_ is not None and (id_ not in best or (counterparts, count) > (best[id_].counterparts, best[id_].count)):
            best[id_] = RatingSummary(address, side, tag, count, counterparts, mean, bound)
    return best


def _last_paid(connection: sa.Connection, agent: FoundAgent) -> Decimal | None:
    columns = payment.c
    newest = (
        sa.select(columns.micros, columns.identity_registry, columns.agent_id, columns.kinship)
        .where(columns.chain_id == agent.chain_id, columns.payee == (agent.wallet or agent.owner))
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(_PAYMENTS)
    )
    for micros, identity, agent_id, kinship in connection.execute(newest):
        if (identity, int(agent_id), kinship) == (agent.identity_registry, int(agent.agent_id), None):
            return Decimal(micros) / _MICROS
    return None


def _snippet(requested: Sequence[str], description: str | None, entries: Iterable[tuple[str, str]]) -> Snippet | None:
    """Return the first place that matches a word: in the description, or else in a service or capability."""
    if not requested:
        return None
    for place, text in (("description", description or ""), *entries):
        for token in _TOKEN.finditer(text[:_READ]):
            if any(word.startswith(tuple(requested)) for word in words_of([token[0]])):
                first, last = max(0, token.start() - _BEFORE), token.end() + _AFTER
                before = ("…" if first else "") + text[first : token.start()]
                after = text[token.end() : last] + ("…" if len(text) > last else "")
                return Snippet(place, before, token[0], after)
    return None
