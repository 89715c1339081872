"""`python -m bench.graphql`: the speed of GraphQL, on a database that `python -m bench.world` made.

    python -m bench.graphql --database sqlite:////path/world.sqlite

It asks without HTTP, so on SQLite the processor time is that of the whole answer: parsing, checking, the statement and
its JSON. Other programs disturb it least. The queries are those that published SDKs send. `make bench-search` runs it.
"""

from typing import Final

from sqlalchemy import func, select

from bench.report import options, print_head, print_row, within
from bench.search import Times
from bilateral.api.graphql.execution import Checked, GraphqlRequest
from bilateral.index.files.tables import registration_card
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import read_registries

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


def main() -> None:
    """Measure, and print a table."""
    arguments = options(__doc__, database=..., repeats=7)
    reader = Reader(arguments.database, seconds=60.0)
    registries = reader.read(read_registries)
    files = reader.read(lambda value: value.execute(select(func.count()).select_from(registration_card)).scalar_one())
    if not files:
        raise SystemExit("the database has no registration files: make it anew by `python -m bench.world`")
    print(f"{reader.dialect}, {files:,} registration files\n")
    print_head("query", "kB", "p50 ms", "processor ms", "limit ms", "within")
    chain_id = min(registries.by_chain)
    for name, text in QUERIES.items():
        request = GraphqlRequest(text.replace("CHAIN", str(chain_id)), {})

        def ask(request: GraphqlRequest = request) -> int:
            return len(reader.read(Checked(request).answer, registries, chain_id))

        size, times = ask(), Times.of(ask, arguments.repeats)
        verdict = within(times.at(0.5), LIMITS[name]) if name in LIMITS else ("", "")
        print_row(name, f"{size / 1000:,.0f}", f"{times.at(0.5):.0f}", f"{times.processor[0]:.0f}", *verdict)
    reader.close()


if __name__ == "__main__":
    main()
