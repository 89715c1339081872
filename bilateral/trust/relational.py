"""The relational steps as Ibis expressions, for tables that have outgrown one machine.

The same expressions run on DuckDB, PostgreSQL, ClickHouse and Spark. They return the same figures as the arrays do,
which a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilateral.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa


def degrees(feedback: Any) -> Any:
    """Return the number of distinct clients of each agent, and of distinct agents of each client.

    Args:
        feedback: An Ibis table with the columns of the feedback table.

    Returns:
        A table with the columns `side` (`agent` or `client`), `name` and `degree`.
    """
    distinct = feedback.select("client", "agent_id").distinct()
    agents = distinct.group_by(name=distinct.agent_id.cast("string")).aggregate(degree=distinct.count())
    clients = distinct.group_by(name=distinct.client).aggregate(degree=distinct.count())
    return (
        agents.mutate(side=_text("agent")).union(clients.mutate(side=_text("client"))).select("side", "name", "degree")
    )


def funders(transfers: Any) -> Any:
    """Return the first inbound transfer of each account.

    Args:
        transfers: An Ibis table with the columns of the transfers table.

    Returns:
        A table with the columns `account`, `funder`, `ts` and `amount`.
    """
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    moved = transfers.filter(transfers.src != transfers.dst)
    if "funds" in transfers.columns:
        moved = moved.filter(moved.funds.fill_null(True))
    numbered = moved.mutate(place=ibis.row_number().over(group_by=moved.dst, order_by=[moved.ts, moved.src]))
    first = numbered.filter(numbered.place == 0)
    return first.select(account=first.dst, funder=first.src, ts=first.ts, amount=first.amount)


def cotargets(feedback: Any, transfers: Any, clustering: float = 4.0) -> Any:
    """Return the cells of the co-targeting test by funder: raters of one agent with one funder, and their expectation.

    Args:
        feedback: An Ibis table with the columns of the feedback table.
        transfers: An Ibis table with the columns of the transfers table.
        clustering: The factor of `CoTargeting`.

    Returns:
        A table with the columns `agent_id`, `funder`, `count` and `expected`, of cells with at least two raters.
    """
    distinct = feedback.select("client", "agent_id").distinct()
    funded = funders(transfers)
    joined = distinct.join(funded, distinct.client == funded.account).select("agent_id", "funder")
    cells = joined.group_by("agent_id", "funder").aggregate(count=joined.count())
    cells = cells.filter(cells["count"] > 1)
    written = joined.group_by("funder").aggregate(written=joined.count())
    judged = distinct.group_by("agent_id").aggregate(judged=distinct.count())
    total = distinct.aggregate(total=distinct.count())
    found = cells.join(written, "funder").join(judged, "agent_id").cross_join(total)
    share = found.written / found.total
    factor = (1 / share).clip(upper=clustering)
    return found.mutate(expected=factor * found.judged * share).select("agent_id", "funder", "count", "expected")


def trust(edges: Any, trusted: list[str], rounds: int = 20, restart: float = 0.15) -> pa.Table:
    """Return EigenTrust by power iteration in the database.

    Args:
        edges: An Ibis table with the columns `source`, `target` and `weight`.
        trusted: The reader's list.
        rounds: The number of rounds.
        restart: The share of trust that returns to the list in each round.

    Returns:
        A table with the columns `account` and `trust`.

    Raises:
        InvalidArgumentError: The list is empty.
    """
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    if not trusted:
        raise InvalidArgumentError("the list of trusted accounts is empty: name at least one account that acted")
    start = 1 / len(set(trusted))
    out = edges.group_by("source").aggregate(total=edges.weight.sum())
    flow = edges.join(out, "source")
    flow = flow.select("source", "target", part=flow.weight / flow.total)
    current = dict.fromkeys(set(trusted), start)
    senders = set(out.source.to_pyarrow().to_pylist())
    for _ in range(rounds):
        held = ibis.memtable([{"source": name, "trust": value} for name, value in current.items()])
        moved = flow.join(held, "source")
        moved = moved.group_by("target").aggregate(trust=(moved.part * moved.trust).sum()).to_pyarrow()
        lost = sum(value for name, value in current.items() if name not in senders)
        following = dict(zip(moved["target"].to_pylist(), moved["trust"].to_pylist(), strict=True))
        current = {name: (1 - restart) * value for name, value in following.items()}
        for account in set(trusted):
            current[account] = current.get(account, 0.0) + (1 - restart) * lost * start + restart * start
    return ibis.memtable([{"account": name, "trust": value} for name, value in current.items()]).to_pyarrow()


def _text(value: str) -> Any:
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    return ibis.literal(value)
