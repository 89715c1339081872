"""`python -m bench.graphql`: the speed of GraphQL, on a database that `python -m bench.world` made.

    python -m bench.graphql --database sqlite:////path/world.sqlite

It asks without HTTP, so on SQLite the processor time is that of the whole answer: parsing, checking, the statement and
its JSON. Other programs disturb it least. The queries are those that published SDKs send. `make bench-search` runs it.
"""

import argparse
import time
from typing import Final

from sqlalchemy import func, select

from bilateral.api.graphql.execution import Checked, GraphqlRequest
from bilateral.index.files.tables import registration_card
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import Registries, read_registries

LIMITS: Final = {"1,000 agents with registration files": 80.0}
"""The most milliseconds at the median, by the names of queries."""

_AGENT: Final = "id chainId agentId agentURI owner operators createdAt updatedAt totalFeedback lastActivity"
_FILE: Final = (
    "registrationFile { id agentId name description image active x402Support supportedTrusts mcpEndpoint mcpVersion "
    "a2aEndpoint a2aVersion webEndpoint hasOASF oasfSkills oasfDomains ens did agentWallet mcpTools mcpPrompts "
    "mcpResources a2aSkills createdAt }"
)
QUERIES: Final = {
    "1,000 agents with registration files": f"{{ agents(first: 1000) {{ {_AGENT} {_FILE} }} }}",
    "the same, the last updated first": "{ agents(first: 1000, where: {registrationFile_not: null}, "
    f"orderBy: updatedAt, orderDirection: desc) {{ {_AGENT} {_FILE} }} }}",
    "the same, the newest first": "{ agents(first: 1000, where: {registrationFile_not: null}, "
    f"orderBy: createdAt, orderDirection: desc) {{ {_AGENT} {_FILE} }} }}",
    "1,000 newest feedback with agents": "{ feedbacks(first: 1000, orderBy: createdAt, orderDirection: desc) "
    "{ id value tag1 tag2 clientAddress isRevoked createdAt agent { id } responses { id } } }",
    "one agent": f'{{ agent(id: "CHAIN:1") {{ {_AGENT} {_FILE} }} }}',
    "lists at the greatest depth": "{ agents(first: 5) { feedback(first: 5) { agent { feedback(first: 5) { agent "
    "{ feedback(first: 5) { agent { feedback(first: 5) { id } } } } } } } } }",
}
"""The queries, by their names."""


def measured(reader: Reader, registries: Registries, text: str, repeats: int) -> tuple[int, float, float]:
    """Answer a query several times.

    Args:
        reader: The database.
        registries: Its registries.
        text: The query.
        repeats: The number of times.

    Returns:
        The bytes of the answer, the median of the milliseconds, and the least processor time in milliseconds.
    """
    chain_id = min(registries.by_chain)
    request = GraphqlRequest(text.replace("CHAIN", str(chain_id)), {})
    size, times, used = 0, [], []
    for _ in range(repeats):
        began, processor = time.perf_counter(), time.process_time()
        size = len(reader.read(Checked(request).answer, registries, chain_id))
        times.append((time.perf_counter() - began) * 1000)
        used.append((time.process_time() - processor) * 1000)
    return size, sorted(times)[repeats // 2], min(used)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True, metavar="URL")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    reader = Reader(options.database, seconds=60.0)
    registries = reader.read(read_registries)
    files = reader.read(lambda value: value.execute(select(func.count()).select_from(registration_card)).scalar_one())
    if not files:
        parser.error("the database has no registration files: make it anew by `python -m bench.world`")
    print(f"{reader.dialect}, {files:,} registration files\n")
    print("| query | kB | p50 ms | processor ms | limit ms | within |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, text in QUERIES.items():
        size, median, used = measured(reader, registries, text, options.repeats)
        limit = LIMITS.get(name)
        verdict = "| |" if limit is None else f"{limit:.0f} | {'yes' if median <= limit else 'no'} |"
        print(f"| {name} | {size / 1000:,.0f} | {median:.0f} | {used:.0f} | {verdict}", flush=True)
    reader.close()


if __name__ == "__main__":
    main()
