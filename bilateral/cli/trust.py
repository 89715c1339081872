"""`bilateral trust …`: find who gives false ratings, and compute scores without them."""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bilateral.cli.errors import UsageProblemError
from bilateral.cli.invocation import Invocation
from bilateral.cli.options import ReviewOptions, argument, command, make_group, option, optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bilateral.trust.results import Results
    from bilateral.trust.runs import Progress
    from bilateral.trust.tables.schema import Tables

    _Source = tuple[Callable[[], Tables], Callable[[Results], Results]]
    """How to read the tables to analyse, and the format of the results."""

app = make_group("trust")

_DATABASE: Final = re.compile("([0-9]+=)?(duckdb|postgres|postgresql|sc)://")


def _refuse_databases(tables: Any) -> Any:
    """Reject database URLs: only Parquet files can be read."""
    if any(_DATABASE.match(place) for place in ([tables] if isinstance(tables, str) else tables or ())):
        raise UsageProblemError(
            "--tables takes Parquet files, not a database: export the tables to a "
            "folder with COPY … TO, and pass the folder"
        )
    return tables


def _removed(option: str, instead: str) -> Any:
    def refuse(value: str | None) -> None:
        if value is not None:
            raise UsageProblemError(f"{option} has been removed: {instead}")

    return optional(None, "Removed.", option, hidden=True, callback=refuse)


_Tables = Annotated[
    str, option("DIR|URL", "The folder with the Parquet tables, or its URL.", "--tables", callback=_refuse_databases)
]
_Out = Annotated[Path, option("DIR", "The folder to write the results to.", "--out", show_default=False)]


@command(app, is_local=True)
def analyse(  # noqa: PLR0913, PLR0917  # one a setting
    invocation: Invocation,
    out: _Out,
    judged: ReviewOptions,
    tables: list[str] | None = optional(
        "[CHAIN=]DIR|URL",
        "The folder with the Parquet tables, or its URL. To analyse several chains, repeat it as ID=FOLDER.",
        "--tables",
        callback=_refuse_databases,
    ),
    database: str | None = optional(
        "URL", "The database of an index, instead of --tables; all of its chains are analysed together.", "--database"
    ),
    checkpoints: str | None = _removed("--checkpoints", "run the whole analysis again"),  # noqa: ARG001
    memory: str | None = _removed(  # noqa: ARG001
        "--memory", "an analysis keeps all arrays in memory, 0.8 GB for a million opinions"
    ),
) -> None:
    """Analyse tables, and write the results as Parquet."""
    from bilateral.trust.engine import Engine  # noqa: PLC0415
    from bilateral.trust.features.reviews import absent_message  # noqa: PLC0415
    from bilateral.trust.results import Results  # noqa: PLC0415
    from bilateral.trust.runs import Run  # noqa: PLC0415
    from bilateral.trust.tables.accounts import unrelated_columns  # noqa: PLC0415  # pyarrow is heavy, and an extra
    from bilateral.trust.tables.schema import COLUMNS  # noqa: PLC0415

    cases, trusted = judged.cases(), judged.trusted or []
    run = Run(_Pace(invocation.output.note))
    if bool(tables) == (database is not None):
        raise UsageProblemError("pass exactly one of --tables and --database (the database of an index)")
    with nullcontext(_folders(tables)) if tables else _indexed(database) as (read, by_chain):
        engine = Engine(run=run).fit(run.step("tables", read), cases, trusted)
        run.step("results", lambda: by_chain(Results.of(engine)).write(out))
        apart = unrelated_columns({name: getattr(engine.tables_, name) for name in COLUMNS})
        absent = engine.absent_cases()
    ledger = engine.context_.ledger
    for sentence in apart:
        invocation.output.note(sentence)
    if absent:
        invocation.output.note(absent_message(absent))
    strong = [finding for finding in engine.findings_ if finding.strength >= engine.threshold]
    invocation.output.result(
        {
            "agents": ledger.agents,
            "opinions": len(ledger.opinions),
            "left_out": ledger.dropped,
            "findings": len(engine.findings_),
            "strong_findings": len(strong),
            "flagged": int(engine.suspicion_.flagged.sum()),
            "trust_list": len(trusted),
            "unknown_cases": sorted(absent),
            "warnings": apart,
            "out": str(out),
        },
        title="Trust analysis",
    )


class _Pace:
    """Reports the progress of an analysis, at most every few seconds."""

    _PAUSE: Final = 5.0
    """Seconds between two lines. Short analyses print nothing, and long ones fill a screen or two."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report, self._reported_at = report, 0.0

    def __call__(self, progress: Progress) -> None:
        """Report the state of a run."""
        if progress.spent - self._reported_at >= self._PAUSE:
            self._report(str(progress))
            self._reported_at = progress.spent


def _folders(tables: list[str]) -> _Source:
    from bilateral.trust.tables.schema import Tables  # noqa: PLC0415  # pyarrow is heavy, and an extra

    if (chains := _chains(tables)) is not None:
        return _together(lambda: {chain_id: Tables.read(folder) for chain_id, folder in chains.items()})
    return lambda: Tables.read(tables[0]), lambda results: results


def _chains(tables: list[str]) -> dict[int, str] | None:
    """Return each chain's folder, or None if the tables cover a single chain."""
    matches = [re.fullmatch("([0-9]+)=(.+)", text) for text in tables]
    chains = {int(match[1]): match[2] for match in matches if match is not None}
    if len(tables) == 1 and not chains:
        return None
    if len(chains) < len(tables):
        raise UsageProblemError(
            "if there are several --tables, each needs a chain id, as in --tables 1=DIR --tables 8453=DIR"
        )
    return chains


@contextmanager
def _indexed(database: str | None) -> Iterator[_Source]:
    from bilateral.cli.analysis import tables_of_index  # noqa: PLC0415  # slow to import
    from bilateral.cli.index_options import open_index  # noqa: PLC0415

    with open_index(database) as engine:
        yield _together(lambda: tables_of_index(engine))


def _together(read: Callable[[], dict[int, Tables]]) -> _Source:
    from bilateral.trust.chains import Chains  # noqa: PLC0415  # pyarrow is heavy, and an extra

    @cache
    def joined() -> Chains:
        return Chains.of(read())

    return lambda: joined().tables, lambda results: joined().apart(results)


@command(app, is_local=True)
def decide(
    invocation: Invocation,
    tables: _Tables,
    asks: Annotated[
        Path, option("FILE", "A Parquet file of payment requests (asks): ask_id, asker, agent_id, ts and amount.")
    ],
    out: Annotated[Path, option("FILE", "The Parquet file to write the decisions to.")],
    analyses: int = option(
        None,
        "The maximum number of analyses to run. More analyses let each decision use more recent data.",
        default=4,
        min=1,
    ),
) -> None:
    """For each payment request, decide whether to pay, based on the amount and the agent's standing at the time."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy, and an extra

    from bilateral.trust.decisions import decide as decided  # noqa: PLC0415
    from bilateral.trust.decisions import read_asks  # noqa: PLC0415
    from bilateral.trust.tables.schema import Tables  # noqa: PLC0415

    answers = decided(Tables.read(tables), read_asks(asks), analyses)
    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(answers, out, compression="zstd")
    verdicts = answers.column("verdict").to_pylist()
    counted = {name: verdicts.count(name) for name in ("accept", "caution", "decline")}
    invocation.output.result({"asks": len(verdicts), **counted, "out": str(out)}, title="Decisions")


@command(app, "seeds", is_local=True)
def propose_seeds(
    invocation: Invocation,
    tables: _Tables,
    count: int = option(None, "The number of accounts to propose as trusted.", default=20, min=1),
) -> None:
    """Propose accounts to trust, with supporting figures. Use --trust to specify accounts that you already trust."""
    from bilateral.trust.engine import Engine  # noqa: PLC0415  # pyarrow is heavy, and an extra
    from bilateral.trust.seeds import seeds  # noqa: PLC0415
    from bilateral.trust.tables.schema import Tables  # noqa: PLC0415

    proposals = seeds(Engine().fit(Tables.read(tables)), count)
    if not proposals:
        invocation.output.note("no account bought from three sellers over two weeks and rated as others did")
    invocation.output.result({"proposals": [asdict(proposal) for proposal in proposals]}, title="Accounts to trust")


@command(app, is_local=True)
def explain(
    invocation: Invocation,
    identifier: Annotated[str, argument("ID", "The finding, address or agent number to explain.")],
    out: _Out = Path("results"),
    database: str | None = optional("URL", "The database of an index, to explain its stored analysis."),
    chain_id: int | None = optional(None, "The chain to explain, if the results cover several."),
) -> None:
    """Explain a finding, an account or an agent in plain sentences."""
    from bilateral.trust.chains import of_chain  # noqa: PLC0415  # pyarrow is heavy, and an extra
    from bilateral.trust.explain import explain as explained  # noqa: PLC0415  # pyarrow is heavy, and an extra
    from bilateral.trust.results import Results  # noqa: PLC0415

    if database is None:
        results = Results.read(out)
        if identifier.isdecimal():
            results = of_chain(results, chain_id)
    else:
        from bilateral.cli.analysis import results_of_index  # noqa: PLC0415  # slow to import
        from bilateral.cli.index_options import open_index  # noqa: PLC0415

        with open_index(database) as engine:
            results = results_of_index(engine, chain_id)
    invocation.output.result(explained(results, identifier), title=identifier)
