"""The relational steps as Ibis expressions, for tables that have outgrown one machine.

The same expressions run on DuckDB, PostgreSQL, and by Spark Connect on Sail and Spark. An analysis gives the same
findings and scores by them as by arrays, which tests compare on DuckDB, PostgreSQL and Sail.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa

from bilateral.core.errors import InvalidArgumentError, require_modules
from bilateral.core.text import quoted
from bilateral.trust.accounts import ACCOUNTS, in_small_letters
from bilateral.trust.columns import LARGEST
from bilateral.trust.folders import without_secrets
from bilateral.trust.numbered import NumberedTables, lowered
from bilateral.trust.opinions import Kind
from bilateral.trust.propagation import EigenTrust
from bilateral.trust.runners import SPARK, Runner, SparkConnect
from bilateral.trust.steps import KINDS, Cells, Degrees, Edges, First, Moves, Steps
from bilateral.trust.tables import COLUMNS, OPTIONAL

if TYPE_CHECKING:
    from bilateral.trust.arrays import Floats, Ints
    from bilateral.trust.disk import Budget
    from bilateral.trust.ledger import Ledger
    from bilateral.trust.tables import Tables

_NEEDED: Final = ("agents", "feedback")


class Relational(Steps):
    """The steps in a database: `Engine(steps=database).fit(database.tables())`.

    The database holds the tables of an analysis by their names. Only what the steps give comes out of it, and the
    numbers of accounts and their groups go in, as temporary tables. After later blocks, take all tables anew:
    `engine.renew(database.tables())`.

    Args:
        runner: The database, or an Ibis connection to DuckDB or PostgreSQL.

    Raises:
        InvalidArgumentError: The database has no agents or no feedback.
    """

    holds_tables = True

    def __init__(self, runner: Any) -> None:
        self.runner = runner if isinstance(runner, Runner) else Runner(runner)
        self.connection = self.runner.connection
        held = set(self.connection.list_tables())
        for name in _NEEDED:
            if name not in held:
                raise InvalidArgumentError(f"the database has no table {name}: it needs {' and '.join(_NEEDED)}")
        self._names = [name for name in COLUMNS if name in held]
        self._read: NumberedTables | None = None
        self._accounts: tuple[pa.Array, Any] | None = None
        self._coded: tuple[Ledger, Any] | None = None

    @property
    def label(self) -> str:
        """See `Steps`."""
        return f"{super().label} {self.connection.name}"

    @classmethod
    def open(cls, url: str, budget: Budget | None = None) -> Self:
        """Connect to a database.

        Args:
            url: A URL of Ibis, such as `postgresql://localhost/tables`, or `duckdb://tables.duckdb?memory_limit=4GB`
                with settings of DuckDB, or of a Spark Connect server, such as `sc://localhost:50051`. A fragment names
                a folder of Parquet files that the server can read, with every table:
                `sc://localhost:50051/#s3://bucket/tables`.
            budget: The memory of DuckDB, if the URL does not set it.

        Raises:
            InvalidArgumentError: The database does not open, or lacks a table.
        """
        if url.startswith(SPARK):
            server, _, folder = url.partition("#")
            runner = SparkConnect.open(server)
            try:
                for name in COLUMNS if folder else ():
                    runner.read(name, f"{folder.rstrip('/')}/{name}.parquet")
                return cls(runner)
            except InvalidArgumentError:
                runner.close()
                raise
        require_modules("spark", "duckdb", "ibis")
        import duckdb  # noqa: PLC0415  # heavy, and for this path only
        import ibis  # noqa: PLC0415

        refusals: tuple[type[Exception], ...] = (duckdb.Error, ibis.common.exceptions.IbisError)
        refusals += (ImportError, ValueError, OSError)
        with suppress(ImportError):  # it comes with the extra `index`
            import psycopg  # noqa: PLC0415

            refusals += (psycopg.Error,)
        try:
            if url.startswith("duckdb://"):  # otherwise a file that is missing would be made
                path, _, query = url.removeprefix("duckdb://").partition("?")
                return cls(ibis.duckdb.connect(path, read_only=True, **(_settings(budget) | dict(parse_qsl(query)))))
            return cls(ibis.connect(url))
        except InvalidArgumentError:
            raise
        except refusals as error:
            told = "name a known database" if isinstance(error, ValueError) else error  # it may quote the URL
            raise InvalidArgumentError(f"no database opens at {quoted(without_secrets(url))}: {told}") from None

    @classmethod
    def read_files(cls, folder: str, budget: Budget) -> Tables:
        """Read a folder of Parquet tables by a DuckDB of this process, which holds a part of them at a time.

        Args:
            folder: The folder, with a file or a folder of files for each table.
            budget: The memory.

        Raises:
            InvalidArgumentError: The folder is not on this machine, has no agents, a file is not such a table, or an
                account is not an address.
        """
        require_modules("spark", "duckdb", "ibis")
        import duckdb  # noqa: PLC0415  # heavy, and for this path only
        import ibis  # noqa: PLC0415

        if "://" in folder:
            raise InvalidArgumentError("a limit of memory needs tables on this machine, or in a database")
        connection = ibis.duckdb.connect(**_settings(budget))
        files = {name: path for name in COLUMNS if (path := Path(folder, f"{name}.parquet")).exists()}
        if "agents" not in files:
            raise InvalidArgumentError(f"no agents.parquet in {quoted(folder)}: name a folder of tables")
        for name, path in files.items():
            try:
                connection.read_parquet(path / "*.parquet" if path.is_dir() else path, table_name=name)
            except duckdb.Error as error:
                raise InvalidArgumentError(f"{name}.parquet is not a Parquet table: {error}") from None
        if "feedback" not in files:
            connection.create_table("feedback", schema=pa.schema(COLUMNS["feedback"]))
        database = cls(connection)
        try:
            return database.tables()
        finally:
            connection.disconnect()

    def tables(self) -> Tables:
        """Return the tables, for the steps that arrays do.

        Raises:
            InvalidArgumentError: A table is not as `Tables.of` takes it, or an account is not an address.
        """
        if self._read is not None:
            self._read.drop()
        self._read = NumberedTables(self.runner, self._names)
        return self._read.tables()

    def first_transfers(self, addresses: pa.Array, moves: Moves) -> First:  # noqa: ARG002
        """See `Steps`."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        size = len(addresses)
        funder, at, amount = np.full(size, -1, np.int64), np.full(size, np.nan), np.full(size, np.nan)
        moved = self._table("transfers")
        moved = moved.filter(moved.src != moved.dst)
        if "funds" in moved.columns:
            moved = moved.filter(moved.funds.fill_null(True))
        source = self._numbered(addresses)
        target = source.view()
        moved = moved.join(source, moved.src == source.address).rename(source="number").drop("address")
        moved = moved.join(target, moved.dst == target.address).rename(target="number")
        moved = moved.select("source", "target", at=_finite(moved.ts), amount=_finite(moved.amount))
        place = ibis.row_number().over(group_by=moved.target, order_by=[moved.at, moved.source, moved.amount])
        numbered = moved.mutate(place=place)
        for first in self.runner.batches(numbered.filter(numbered.place == 0).drop("place")):
            target_of = _array(first, "target")
            funder[target_of] = _array(first, "source")
            at[target_of], amount[target_of] = _array(first, "at"), _array(first, "amount")
        return First(funder, at, amount)

    def degrees(self, ledger: Ledger, edges: Edges) -> Degrees:  # noqa: ARG002
        """See `Steps`."""
        sent = self._edges(ledger)
        judged, activity = np.zeros(ledger.subjects, np.int64), np.zeros(ledger.accounts, np.int64)
        for part in self.runner.batches(sent.group_by("subject").aggregate(degree=sent.count())):
            judged[_array(part, "subject")] = _array(part, "degree")
        ordinary = sent.filter(sent.kind != int(Kind.CONSTANT_TAG))
        for part in self.runner.batches(ordinary.group_by("rater").aggregate(degree=ordinary.count())):
            activity[_array(part, "rater")] = _array(part, "degree")
        return Degrees(judged, activity)

    def cells(self, ledger: Ledger, edges: Edges, group: Ints, size: int) -> Cells:  # noqa: ARG002
        """See `Steps`."""
        members = np.flatnonzero(group >= 0)
        kin = self.runner.rows(pa.table({"member": members, "kin": group[members].astype(np.int64)}))
        all_edges = self._edges(ledger)
        joined = all_edges.join(kin, all_edges.rater == kin.member).select("subject", "kind", "kin")
        counted = joined.group_by("subject", "kin").aggregate(raters=joined.count())
        tests = self.runner.out(counted.aggregate(tests=counted.count()))["tests"][0].as_py()
        many = self.runner.out(counted.filter(counted.raters > 1))
        subject, own, count = (_array(many, name) for name in ("subject", "kin", "raters"))
        order = np.lexsort((own, subject))
        written = np.zeros(size * KINDS, np.int64)
        rows = self.runner.out(joined.group_by("kin", "kind").aggregate(pairs=joined.count()))
        written[_array(rows, "kin") * KINDS + _array(rows, "kind")] = _array(rows, "pairs")
        return Cells(subject[order], own[order], count[order], tests, written)

    def trust(self, source: Ints, target: Ints, weight: Floats, trusted: Ints, size: int) -> EigenTrust:
        """See `Steps`. Each round is a query. The trust that accounts hold stays in the database until the last."""
        walk = EigenTrust()
        start = EigenTrust(iterations=0).spread(lambda held: held, np.zeros(size, bool), trusted, size).trust_
        listed = np.flatnonzero(start)
        edges = self.runner.rows(
            pa.table({"source": source.astype(np.int64), "target": target.astype(np.int64), "weight": weight})
        )
        out = edges.group_by("source").aggregate(total=edges.weight.sum())
        out = self.runner.keep(out.filter(out.total > 0))
        flow = edges.join(out, "source")
        flow = self.runner.keep(flow.select("source", "target", part=flow.weight / flow.total))
        restart = self.runner.keep(self.runner.rows(pa.table({"account": listed, "trust": start[listed]})))
        held, ended = restart, float(start[np.setdiff1d(listed, source[weight > 0])].sum())
        for number in range(walk.iterations):
            following = self._round(flow, held, restart, walk.restart, ended)
            change, ended = self._change(held, following, out)
            if held is not restart:
                self.runner.drop(held)
            held = following
            walk.iterations_ = number + 1
            if change < walk.tolerance:
                break
        last = self.runner.out(held)
        for kept in (held, restart, flow, out):
            self.runner.drop(kept)
        walk.trust_ = np.zeros(size)
        walk.trust_[_array(last, "account")] = _array(last, "trust")
        walk.reached_ = walk.trust_ > 0
        return walk

    def _round(self, flow: Any, held: Any, restart: Any, share: float, ended: float) -> Any:
        """Return the trust of each account after a round, of which a share returns to the list, and what ended."""
        moved = flow.join(held, flow.source == held.account)
        moved = moved.select(account=moved.target, trust=moved.part * moved.trust * _double(1 - share))
        returned = _double((1 - share) * ended + share)
        returned = restart.select("account", trust=restart.trust * returned)
        both = moved.union(returned)
        return self.runner.keep(both.group_by("account").aggregate(trust=both.trust.sum()))

    def _change(self, held: Any, following: Any, out: Any) -> tuple[float, float]:
        """Return the change of trust in a round, and the trust that ended at accounts that pass none on."""
        both = following.union(held.select("account", trust=-held.trust))
        moved = both.group_by("account").aggregate(trust=both.trust.sum())
        ends = following.anti_join(out, following.account == out.source)
        sums = moved.select(change=moved.trust.abs(), ended=_double(0))
        sums = sums.union(ends.select(change=_double(0), ended=ends.trust))
        row = self.runner.out(sums.aggregate(change=sums.change.sum(), ended=sums.ended.sum()))
        return row["change"][0].as_py() or 0.0, row["ended"][0].as_py() or 0.0

    def _numbered(self, addresses: pa.Array) -> Any:
        """Return the accounts with their numbers as a table of the database."""
        if self._read is not None and self._read.has(addresses):
            return self._read.accounts
        if self._accounts is None or self._accounts[0] is not addresses:
            numbers = {"address": in_small_letters(addresses), "number": np.arange(len(addresses))}
            self._accounts = addresses, self.runner.rows(pa.table(numbers))
        return self._accounts[1]

    def _edges(self, ledger: Ledger) -> Any:
        """Return the distinct pairs of rater and subject in numbers, as a temporary table of the database."""
        if self._coded is None or self._coded[0] is not ledger:
            if self._coded is not None:
                self.runner.drop(self._coded[1])
            self._coded = None  # until the next table stands, in case it fails
            self._coded = ledger, self.runner.keep(self._opinions(ledger).distinct())
        return self._coded[1]

    def _opinions(self, ledger: Ledger) -> Any:
        """Return the rater, the subject and the kind of each opinion in numbers, as the ledger has them."""
        import ibis  # noqa: PLC0415  # heavy, and for this path only

        offsets = np.concatenate([[0], np.cumsum(np.bincount(ledger.subject_kind, minlength=KINDS))])
        agents = self.runner.rows(
            pa.table(
                {"id": ledger.agent_ids, "number": np.arange(ledger.agents), "owner": ledger.owner.astype(np.int64)}
            )
        )
        accounts, other = self._numbered(ledger.addresses), agents.view()

        def numbered(joined: Any, rater: str, kind: Any, offset: Any) -> Any:
            joined = joined.filter(joined[rater] >= 0)
            subject = (joined.number + offset).cast("int64")
            return joined.select(rater=joined[rater].cast("int64"), subject=subject, kind=_whole(kind))

        feedback, ratings, validations = (self._table(name) for name in ("feedback", "ratings", "validations"))
        tags = [ledger.tags[code] for code in ledger.constant_tags.tolist()]
        constant = feedback.tag.isin(tags).fill_null(False) if tags else ibis.literal(False)
        opinions = feedback.select("client", "agent_id", constant=constant)
        opinions = opinions.join(accounts, opinions.client == accounts.address).rename(rater="number").drop("address")
        opinions = opinions.join(agents, opinions.agent_id == agents.id)
        last = int(Kind.CONSTANT_TAG)
        parts = [
            numbered(
                opinions,
                "rater",
                ibis.ifelse(opinions.constant, last, int(Kind.FEEDBACK)),
                ibis.ifelse(opinions.constant, int(offsets[last]), 0),
            )
        ]
        of_client = (ratings.kind == "client").fill_null(False)
        rated = ratings.mutate(of_client=of_client).select("client", "validator_id", "server_id", "of_client")
        rated = rated.join(agents.select("id", "owner"), rated.server_id == agents.id).drop("id")
        clients, validators = rated.filter(rated.of_client), rated.filter(~rated.of_client)
        clients = clients.join(accounts, clients.client == accounts.address)
        validators = validators.join(other.select("id", "number"), validators.validator_id == other.id)
        answers = validations.join(agents.select("id", "owner"), validations.validator_id == agents.id).drop("id")
        answers = answers.join(other.select("id", "number"), answers.agent_id == other.id)
        for kind, joined in (
            (Kind.CLIENT_RATING, clients),
            (Kind.VALIDATOR_RATING, validators),
            (Kind.VALIDATION, answers),
        ):
            parts.append(numbered(joined, "owner", ibis.literal(int(kind)), int(offsets[kind])))
        return ibis.union(*parts)

    def _table(self, name: str) -> Any:
        """Return a table of the database with its addresses in small letters; an empty one if it has none."""
        if name in self._names:
            table = self.connection.table(name)
            return table.mutate(**{column: lowered(table[column]) for column in ACCOUNTS.get(name, ())})
        columns = COLUMNS[name] | (OPTIONAL.get(name, {}) if name == "transfers" else {})
        return self.runner.rows(pa.table({column: pa.array([], kind) for column, kind in columns.items()}))


def _settings(budget: Budget | None) -> dict[str, str]:
    """Return the settings of DuckDB for a limit of memory."""
    if budget is None:
        return {}
    return {"memory_limit": f"{budget.database}B", "temp_directory": str(budget.scratch)}


def _array(table: pa.Table | pa.RecordBatch, name: str) -> Any:
    """Return a column as an array."""
    return table[name].to_numpy(zero_copy_only=False)


def _finite(column: Any) -> Any:
    """Return numbers as the ledger has them: 0 for null and nan, and none beyond the largest value."""
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    known = column.cast("float64").fill_null(_double(0))
    infinity = float("inf")  # only nan is beyond it, in each of the databases; Sail's workers know no ISNAN
    is_nan = (known > _double(infinity)) | (known < _double(-infinity))
    return ibis.ifelse(is_nan, _double(0), known).clip(_double(-LARGEST), _double(LARGEST))


def _double(value: float) -> Any:
    """Return a constant as a float. Sail takes `0.0` for a decimal, and computes in decimals with it from there on."""
    import ibis  # noqa: PLC0415  # heavy, and for this path only

    return ibis.literal(repr(value)).cast("float64")


def _whole(value: Any) -> Any:
    """Return integers of 64 bits, so that parts of a union agree."""
    return value.cast("int64")
