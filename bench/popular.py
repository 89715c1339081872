"""A made-up world with an agent that a million clients rated, and 5,000 agents that rate each other as clients."""

from typing import Final

from eth_utils.crypto import keccak
from sqlalchemy import func, insert, select, text

from bench.world.build import build
from bench.world.people import REPUTATION, World
from bilateral.core.values.bounds import SHARES
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.ratings import tables as rating_tables

AGENTS: Final = 5_000
RATINGS: Final = 1_000_000
_EACH: Final = 4
_TAG: Final = "starred"
_NUMBERS: Final = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows) "
_PLACE: Final = "SELECT :chain, :block + i / 1000, i % 1000, zeroblob(32), 1750000000 + i, zeroblob(32), :registry, "
_CLIENT: Final = "printf('0x%08x%032d', (i * 2654435761) % 4294967296, i)"
_FEEDBACK: Final = (
    "INSERT INTO new_feedback (chain_id, block_number, log_index, block_hash, block_time, transaction_hash, registry, "
    "agent_id, client_address, feedback_index, value, value_decimals, indexed_tag1, tag1, tag2, endpoint, "
    "feedback_uri, feedback_hash) {numbers}{place}1, "
    "{client}, 1, i % 101, 0, :hash, :tag, '', '', '', zeroblob(32) FROM n"
)
_COUNTERPARTS: Final = (
    "INSERT INTO counterpart (chain_id, registry, agent_id, side, tag, account, count, share_sum, unit_sum) "
    "{numbers}SELECT :chain, :registry, 1, 'server', :tag, {client}, 1, i % 101 * :share, 0 FROM n"
)
_RATED: Final = (
    "INSERT INTO client_rated (chain_id, block_number, log_index, block_hash, block_time, transaction_hash, registry, "
    "client_id, server_id, rating) {numbers}{place}"
    "(i / :each + 1 + i % :each * 37) % :agents + 1, i / :each % :agents + 1, i % 101 FROM n"
)


def popular_world(database: str, ratings: int = RATINGS) -> str:
    """Write the world into an empty SQLite database, and return the agent's path.

    Args:
        database: The URL.
        ratings: The number of clients that rated the agent, each once.
    """
    world = World(agents=AGENTS, ratings=1)
    engine = open_database(database)
    build(engine, world)
    with engine.begin() as connection:
        progress = schema.chain.c
        block = connection.execute(select(func.max(progress.block_number))).scalar_one() + 1
        values = {"registry": REPUTATION, "tag": _TAG, "hash": keccak(text=_TAG), "share": SHARES // 100}
        values |= {"chain": world.chain_id, "block": block, "rows": ratings, "each": _EACH, "agents": AGENTS}
        parts = {"numbers": _NUMBERS, "place": _PLACE, "client": _CLIENT}
        for statement in (_FEEDBACK, _COUNTERPARTS):
            connection.execute(text(statement.format(**parts)), values)
        values["rows"] = AGENTS * _EACH - 1
        connection.execute(text(_RATED.format(**parts)), values)
        row = (world.chain_id, REPUTATION, 1, "server", _TAG, ratings, ratings, 50 * ratings, SHARES // 2 * ratings)
        names = [column.name for column in rating_tables.summary.c]
        connection.execute(insert(rating_tables.summary), dict(zip(names, (*row, 50.0, 49.9), strict=True)))
        connection.execute(schema.chain.update().values(block_number=block + 1_000, head_number=block + 1_000))
    engine.dispose()
    return f"{world.chain_id}/1"
