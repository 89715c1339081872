"""A search's plan: the resolved words, filters and gates (conditions on ratings), and how to find the first agents.

A search for agents has two parts, words and ratings, and either may match many agents. The search starts with the part
that matches fewer. If both match many, matching agents are frequent, so the search reads the index of lower bounds in
descending order ("walks down" the index): first for agents with all words in their names, then for those with one word
fewer, and so on. A search without ratings walks down the agents in the same way, in the order of their keys,
registrations or last changes. A search that sorts by standing walks down the standings, with or without ratings.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import ge, le
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.types import String

from bilateral.core.errors import InvalidArgumentError, MissingExtraError
from bilateral.core.values.bounds import scale_of_tag
from bilateral.index.agents.tables import agent, agent_activity, agent_metadata
from bilateral.index.files import tables as files
from bilateral.index.files.tables import State, agent_file
from bilateral.index.log.dialects import dialect_of, unindexed
from bilateral.index.log.tables import chain, registry
from bilateral.index.measurements.queries import agents_with, is_alive
from bilateral.index.measurements.values import Alive
from bilateral.index.ratings.tables import summary
from bilateral.index.reading.prepared import Prepared, plan_by_values
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.gates import RATED_IN, Bounds, Ranked, bounds_of, ranked
from bilateral.index.search.matching import Matcher, Words, words_of_search
from bilateral.index.search.reader import embedder
from bilateral.index.search.tables import KEY, registration_vector, registration_words
from bilateral.index.standing.queries import chains_with_standings

FEW_FILES: Final = 1_000
"""The maximum number of files with a query's words for a search to start with these files and look up their ratings.

This is the limit for up to 100,000 files. With more files, a walk must read more agents, so the limit grows with the
square root of the number of files.
"""

_USUAL_FILES: Final = 100_000
"""The number of files for which the other limits are set. With more files, the limits grow with the square root."""

MOST_LISTED: Final = 3_000
"""The maximum number of files for PostgreSQL to limit a walk to these files' agents. It grows like `FEW_FILES`.

These agents form a set in memory, in which the walk looks up each summary's agent. Without a set, the walk reads three
tables for each summary.
"""

AGENTS_OF_FILE: Final = 4
"""The maximum ratio of agents to files (which agents may share) at which PostgreSQL limits a walk to these agents."""

FEW_RATED: Final = 2_000
"""The maximum number of ratings that may pass a gate for a search to start with these ratings."""

MOST_SCANNED: Final = 25 * FEW_RATED
"""The maximum number of ratings per tag that PostgreSQL checks against a gate if it could start with files instead.

Counting the ratings that pass a strict gate reads the tag's entire index, which takes longer than looking up the files.
"""

TIMES: Final = {
    Order.UPDATED: agent.c.updated_at,
    Order.REGISTERED: agent.c.registered_at,
    Order.LAST_ACTIVE: agent_activity.c.last_activity,
}
"""The columns with the times by which some sort orders sort."""

_OF_AGENTS: Final = (Order.STANDING, Order.RELEVANCE, *TIMES)
"""The sort orders in which a search without a gate walks down an index."""

_CHAINS: Final = Prepared(sa.select(chain.c.chain_id))

_LAST_FILE: Final = Prepared(sa.select(sa.func.max(registration_words.c.document_id).label("last")))
"""The query for the number of the last file, which approximates the number of files."""

MOST_CLAIMS: Final = 1_000
"""The maximum number of agents listed in files on hosts for a search for verified domains to start with these agents.
If there are more, a walk down all agents soon finds enough with verified domains."""

MOST_MEASURED: Final = 1_000
"""The maximum number of matching agents for a search by a watchtower's measurements to start with these agents."""

_CONTENTS: Final = sa.select(files.file.c.content_hash).where(files.IS_FROM_HOST).subquery()
_CLAIMS: Final = (
    sa.select(files.registration_claim.c.agent_registry, files.registration_claim.c.agent_id)
    .join(_CONTENTS, _CONTENTS.c.content_hash == files.registration_claim.c.content_hash)
    .limit(MOST_CLAIMS + 1)
)

_JOINED: Final = 4
"""The number of a filter's conditions that PostgreSQL may turn into joins."""


@dataclass(frozen=True)
class Plan:
    """The parts of a search's statements, and how to find its first agents.

    Attributes:
        search: The search, with the default sort order applied.
        words: The search's words; empty when sorting by meaning.
        few: The maximum number of files with the words in their names at which the search starts with these files. See
            `FEW_FILES`.
        most: The maximum number of files to whose agents a walk is limited. See `MOST_LISTED`.
        tables: The agent tables and, if the search reads them, the file tables.
        where: The conditions on these tables' rows, except for words and gates.
        gates: The gates, as parts of statements.
        begin: The conditions of the single statement that finds all agents; None if the search walks down an index.
        bounds: The conditions of a walk down the lower bounds of the first gate; empty to walk down the agents.
        closest: The files that are closest to the text in meaning, and their ranks; None for other sort orders.
        with_standings: The chains whose agents have standings, when sorting by standing.
    """

    connection: sa.Connection
    search: AgentSearch
    words: Words
    chains: Sequence[int]
    few: int
    most: int
    tables: sa.FromClause
    where: Sequence[sa.ColumnElement[bool]]
    gates: Sequence[Ranked]
    begin: Sequence[sa.ColumnElement[bool]] | None
    bounds: Bounds
    closest: sa.Subquery | None
    with_standings: Sequence[int]

    @property
    def walks_bounds(self) -> bool:
        """True to walk down the lower bounds of the first gate, False to walk down the agents."""
        return bool(self.bounds.passing)

    @property
    def most_agents(self) -> int:
        """The maximum number of agents to which a walk is limited."""
        return self.most * AGENTS_OF_FILE

    @property
    def lists_agents(self) -> bool:
        """True if so few files contain all words that a walk can be limited to these files' agents."""
        return self.walks_bounds and self.words.files <= self.most


def plan_of(connection: sa.Connection, search: AgentSearch) -> Plan | None:
    """Return a search's plan; None if the search cannot find anything."""
    dialect_of(connection).add_functions(connection)
    plan_by_values(connection)
    closest, stood, bounds, is_by_meaning = None, list[int](), Bounds(), search.ranking is Order.MEANING
    few, sure, most = (0, 0, 0) if is_by_meaning else _sizes(connection)
    is_of_account = search.owner is not None or search.wallet is not None
    claimed = None if is_of_account or is_by_meaning else _few_agents(connection, search)
    begins_with_agents = is_of_account or claimed is not None
    words = words_of_search(connection, search, most=None if begins_with_agents else most)
    chains = search.chains or tuple(row[0] for row in _CHAINS.all(connection, {}))
    if words is None or not chains or claimed == []:
        return None
    if search.ranking is Order.STANDING:
        stood = chains_with_standings(connection, chains, search.rated_side.value)
    elif is_by_meaning:
        closest = _closest(connection, words.matcher, search)
        if closest is None:
            return None
    if _has_bounds(search) and not begins_with_agents and words.files > sure:
        within = MOST_SCANNED if words.files <= few else None
        bounds = bounds_of(connection, search.gates[0], chains, most=FEW_RATED, within=within)
    # SQLite starts with the documents or the ratings, instead of with all agents of the chains.
    is_of_chains: sa.ColumnElement[bool] = unindexed(agent.c.chain_id).in_(chains)
    begin, are_few = None, True
    if begins_with_agents:
        begin = [agent.c.chain_id.in_(chains), *_among(claimed or ()), *words.has]
    elif is_by_meaning:
        begin = [is_of_chains]
    elif words.files <= sure or (words.files <= few and not bounds.passing):
        begin = [is_of_chains, *words.begin()]
    elif not bounds.passing and (search.gates or search.ranking not in _OF_AGENTS):
        begin, are_few = [is_of_chains if search.gates else agent.c.chain_id.in_(chains), *words.has], False
    gates = ranked(search.gates, search.ranking, chains, are_few=are_few)
    tables = _tables_of(search, has_words=bool(words.terms), closest=closest)
    where = [*_on_agent(search), *_on_file(search)]
    few = sure if bounds.passing else few
    return Plan(connection, search, words, chains, few, most, tables, where, gates, begin, bounds, closest, stood)


def _few_agents(connection: sa.Connection, search: AgentSearch) -> Sequence[tuple[int, str, int]] | None:
    """Return the few agents among which are all that a search can find; None if there are many."""
    agents = claimed_agents(connection) if search.verified_domain else None
    if agents is None and search.alive not in {None, Alive.UNKNOWN}:
        return agents_with(connection, search.alive, MOST_MEASURED)
    return agents


def claimed_agents(connection: sa.Connection) -> Sequence[tuple[int, str, int]] | None:
    """Return the agents listed in files on hosts, which include all with a verified domain; None if there are many."""
    rows = connection.execute(_CLAIMS).all()
    if len(rows) > MOST_CLAIMS:
        return None
    # Claims are untrusted. A claim with an unusual name for a registry matches no agent.
    claims = [(registry.split(":"), agent_id) for registry, agent_id in rows if agent_id is not None]
    return [
        (int(parts[1]), parts[2], int(agent_id))
        for parts, agent_id in claims
        if len(parts) == len(("eip155", "chain", "identity")) and parts[1].isdecimal() and int(parts[1]) < 2**63
    ]


def naming_domains(*columns: Any) -> sa.Select[Any]:
    """Return the query for the services' domains that list their agents, with the given agent columns.

    A domain lists an agent in the file at its well-known path, or by hosting the registration file itself.
    """
    current, own, served = agent_file.c, files.file.alias("own_file"), files.file.alias("domain_file")
    domain, claim = files.registration_domain.c, files.registration_claim.alias("domain_claim").c
    registry = sa.literal("eip155:") + sa.cast(agent.c.chain_id, String) + ":" + agent.c.identity_registry
    says_so = sa.or_(
        sa.and_(served.c.file_id == domain.file_id, served.c.state == State.LOADED),
        # in this case, ERC-8004 requires no file on the domain
        sa.and_(served.c.file_id == own.c.file_id, own.c.host == domain.host, own.c.uri.startswith("https://")),
    )
    return sa.select(*columns).where(
        *(current[name] == agent.c[name] for name in ("chain_id", "identity_registry", "agent_id")),
        own.c.file_id == current.file_id,
        own.c.state == State.LOADED,
        domain.content_hash == own.c.content_hash,
        says_so,
        claim.content_hash == served.c.content_hash,
        claim.agent_registry == registry,
        claim.agent_id == agent.c.agent_id,
    )


def has_verified_domain() -> sa.ColumnElement[bool]:
    """Return the condition that the domain of one of an agent's services lists the agent."""
    # PostgreSQL would first hash the domains of all agents, which takes seconds. The offset makes it look up each.
    return naming_domains(sa.literal(1)).correlate(agent).offset(0).exists()


def _tables_of(search: AgentSearch, *, has_words: bool, closest: sa.Subquery | None = None) -> sa.FromClause:
    """Return the agent tables and, if a search reads them, the file tables."""
    tables: sa.FromClause = agent
    if search.ranking is Order.LAST_ACTIVE:
        tables = agent.join(agent_activity, _is_of_agent(agent_activity.c))
    content = files.file.c.content_hash
    reads = search.active is not None or search.x402 is not None
    if has_words or search.capabilities or search.services or reads or closest is not None:
        is_loaded = sa.and_(files.file.c.file_id == agent_file.c.file_id, unindexed(files.file.c.state) == State.LOADED)
        tables = tables.join(agent_file, _is_of_agent(agent_file.c)).join(files.file, is_loaded)
    if has_words:
        tables = tables.join(registration_words, registration_words.c.content_hash == content)
    if closest is not None:
        vector = registration_vector.c
        tables = tables.join(registration_vector, vector.content_hash == content)
        tables = tables.join(closest, closest.c.vector_id == vector.vector_id)
    if reads:
        tables = tables.join(files.registration_file, files.registration_file.c.content_hash == content)
    return tables


def _is_of_agent(columns: Any) -> sa.ColumnElement[bool]:
    return sa.and_(*(columns[name] == agent.c[name] for name in KEY))


def _on_agent(search: AgentSearch) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions on the agent's on-chain state."""
    columns = agent.c
    for name in ("registered", "updated"):
        for compare, limit in ((ge, getattr(search, f"{name}_from")), (le, getattr(search, f"{name}_to"))):
            if limit is not None:
                yield compare(columns[f"{name}_at"], limit)
    for name in ("owner", "wallet"):
        if getattr(search, name) is not None:
            yield columns[name] == getattr(search, name)
    yield from _all_of(sa.exists().where(*_has_entry(*pair)).correlate(agent) for pair in search.metadata)
    if search.rated is not None:
        yield _is_rated() if search.rated else ~_is_rated()
    if search.verified_domain is not None:
        yield has_verified_domain() if search.verified_domain else ~has_verified_domain()
    if search.alive is not None:
        yield is_alive(search.alive)


def _on_file(search: AgentSearch) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions on the agent's registration file, except for its words."""
    content, read = files.file.c.content_hash, files.registration_file.c
    for requested, column in ((search.active, read.active), (search.x402, read.x402_support)):
        if requested is not None:
            yield column.is_(requested)
    capability, service = files.registration_capability.c, files.registration_service.c
    offered = [sa.and_(capability.kind == kind.value, capability.value == value) for kind, value in search.capabilities]
    kinds = [sa.func.lower(service.name) == name.lower() for name in search.services]
    for entry, conditions in ((capability, offered), (service, kinds)):
        of_file = (sa.exists().where(entry.content_hash == content, condition) for condition in conditions)
        yield from _all_of(is_listed.correlate(files.file) for is_listed in of_file)


def _has_entry(key: str, value: bytes | None) -> list[sa.ColumnElement[bool]]:
    entry = agent_metadata.c
    conditions = [*(entry[name] == agent.c[name] for name in KEY), entry.metadata_key == key]
    return conditions if value is None else [*conditions, entry.metadata_value == value]


def _all_of(conditions: Iterable[sa.ColumnElement[bool]]) -> Iterator[sa.ColumnElement[bool]]:
    """Yield conditions in a form that PostgreSQL turns into few joins, because planning many joins takes seconds."""
    for number, condition in enumerate(conditions):
        yield condition if number < _JOINED else condition.is_(True)


def _is_rated() -> sa.ColumnElement[bool]:
    return (
        sa.exists()
        .where(
            summary.c.chain_id == agent.c.chain_id,
            registry.c.chain_id == agent.c.chain_id,
            registry.c.identity_registry == agent.c.identity_registry,
            registry.c.kind.in_(RATED_IN),
            summary.c.registry == unindexed(registry.c.address),
            summary.c.agent_id == agent.c.agent_id,
            summary.c.side == "server",
        )
        .correlate(agent)
    )


def _among(keys: Sequence[tuple[int, str, int]]) -> list[sa.ColumnElement[bool]]:
    """Return conditions by which SQLite finds the given agents' rows by key, possibly with a few other agents' rows."""
    return [agent.c[name].in_(sorted(set(values))) for name, values in zip(KEY, zip(*keys, strict=True), strict=False)]


def _has_bounds(search: AgentSearch) -> bool:
    if not search.gates or search.ranking not in (Order.STANDING, Order.RELEVANCE, Order.LOWER_BOUND):
        return False
    gate = search.gates[0]
    return gate.tag is not None and scale_of_tag(gate.tag) is not None and not gate.is_of_few


def _sizes(connection: sa.Connection) -> tuple[int, int, int]:
    """Return the maximum numbers of files for which a search may start with them, surely does so, or limits a walk."""
    (last,) = _LAST_FILE.first(connection, {}) or (None,)
    growth = sqrt(max(1.0, (last or 0) / _USUAL_FILES))
    few = sure = most = int(FEW_FILES * growth)
    if dialect_of(connection).has_arrays:
        sure, most = few // 2, max(few, int(MOST_LISTED * growth))
    return few, sure, most


def _closest(connection: sa.Connection, matcher: Matcher, search: AgentSearch) -> sa.Subquery | None:
    try:
        question = embedder().question(search.text or "")
    except MissingExtraError as problem:
        raise InvalidArgumentError(f"sorting by meaning is not available here: {problem}") from None
    from bilateral.index.search.nearest import meanings_of  # noqa: PLC0415  # needs the extra

    ranks = meanings_of(connection).ranks(connection, matcher, question, search.words)
    if not ranks:
        return None
    # The ranks are one parameter, because SQLAlchemy would take 20 ms to compile 800.
    listed = sa.literal(json.dumps(ranks), sa.Text)
    # Both functions return one row for each key of an object.
    entries = (
        sa.func.json_each_text(sa.cast(listed, sa.JSON))
        if dialect_of(connection).has_server
        else sa.func.json_each(listed)
    )
    rows = entries.table_valued("key", "value")
    columns = sa.cast(rows.c.key, sa.BigInteger).label("vector_id"), sa.cast(rows.c.value, sa.Float(53)).label("rank")
    return sa.select(*columns).subquery("closest")
