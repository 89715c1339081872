"""`python -m bench.search`: the time of searches, leaders and GraphQL, on an index of a made-up world.

    python -m bench.search --database sqlite:///world.sqlite
    python -m bench.search --database postgresql://… --copies 10 --limit 150

An empty database is filled first, which takes minutes (`python -m bench.world`). Searches have one or two words, drawn
as agents use them, some cut short, and one gate each. The limits are those of a machine that does nothing else; the
processor time of this process says more on one that does. It leaves out that of PostgreSQL.
GraphQL is asked without HTTP: the time is that of parsing, checking, the statement and its JSON. The queries are those
that published SDKs send.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import func, select

from bench.report import print_head, print_row, within
from bench.world.build import WorldParser, open_world
from bilateral.api.graphql.execution import Checked, GraphqlRequest
from bilateral.index.files import tables as files
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import read_registries
from bilateral.index.search.filters import AgentSearch, Gate
from bilateral.index.search.leaders import leaderboard
from bilateral.index.search.queries import search_agents

COLUMNS: Final = ("p50 ms", "p95 ms", "worst ms", "p95 of processor ms", "limit ms", "within")
_SHORTEST: Final = 5
"""Letters of a word from which on it may be cut short."""

_TAGS: Final = ("starred", "starred", "starred", "quality", "uptime")
_GATES: Final[tuple[dict[str, tuple[int, ...]], ...]] = (
    {"minimum": (50, 70, 80, 90), "count": (1, 3, 5, 10)},
    {"minimum": (50, 70, 80, 90), "count": (1, 3, 5, 10)},
    {"lower_bound": (20, 50, 70, 85)},
    {"clients": (2, 5, 20)},
)


@dataclass(frozen=True)
class Times:
    """The times of one kind of question, in milliseconds.

    Attributes:
        wall: The times, sorted.
        processor: The processor times of this process, sorted.
    """

    wall: list[float]
    processor: list[float]

    @classmethod
    def of(cls, ask: Callable[[], object], count: int) -> "Times":
        """Ask a question many times.

        Args:
            ask: Asks once.
            count: The number of times.
        """
        wall, processor = [], []
        for _ in range(count):
            began, began_processor = time.perf_counter(), time.process_time()
            ask()
            wall.append((time.perf_counter() - began) * 1000)
            processor.append((time.process_time() - began_processor) * 1000)
        return cls(sorted(wall), sorted(processor))

    def at(self, share: float) -> float:
        """Return the time below which a share of the questions was answered."""
        return self.wall[int(len(self.wall) * share)]

    def row(self, limit: float) -> list[str]:
        """Return the cells of a table, with the verdict on a limit of the 95th percentile."""
        late = int(len(self.wall) * 0.95)
        times = (self.at(0.5), self.wall[late], self.wall[-1], self.processor[late])
        return [*(f"{milliseconds:.1f}" for milliseconds in times), *within(self.wall[late], limit)]


def searches(reader: Reader, seed: int) -> Iterator[AgentSearch]:
    """Yield gated searches for words of registration files. The same seed makes the same ones.

    Args:
        reader: The database.
        seed: The seed.
    """
    chance = random.Random(seed)  # noqa: S311  # reproducible, not secret
    column = files.registration_file.c
    with reader.connect() as connection:
        rows = connection.execute(select(column.name, column.description).limit(20_000)).all()
    texts = [text.lower().rstrip(".").split() for row in rows for text in row if text]

    def word() -> str:
        word: str = chance.choice(chance.choice(texts))
        is_cut = len(word) >= _SHORTEST and chance.random() < 0.15  # noqa: PLR2004  # a share
        return word[:-2] if is_cut else word

    while True:
        limits = {name: chance.choice(values) for name, values in chance.choice(_GATES).items()}
        wanted: dict[str, Any] = {
            name: Decimal(value) if name in ("minimum", "lower_bound") else value for name, value in limits.items()
        }
        text = " ".join(word() for _ in range(chance.choice((1, 2))))
        yield AgentSearch(text=text, gates=(Gate(tag=chance.choice(_TAGS), **wanted),))


LIMITS: Final = {"1,000 agents with registration files": 80.0}
"""The most milliseconds at the median, by the names of queries."""

AGENT: Final = "id chainId agentId agentURI owner operators createdAt updatedAt totalFeedback lastActivity"
FILE: Final = (
    "registrationFile { id agentId name description image active x402Support supportedTrusts mcpEndpoint mcpVersion "
    "a2aEndpoint a2aVersion webEndpoint hasOASF oasfSkills oasfDomains ens did agentWallet mcpTools mcpPrompts "
    "mcpResources a2aSkills createdAt }"
)
QUERIES: Final = {
    "1,000 agents with registration files": f"{{ agents(first: 1000) {{ {AGENT} {FILE} }} }}",
    "the same, the last updated first": "{ agents(first: 1000, where: {registrationFile_not: null}, "
    f"orderBy: updatedAt, orderDirection: desc) {{ {AGENT} {FILE} }} }}",
    "the same, the newest first": "{ agents(first: 1000, where: {registrationFile_not: null}, "
    f"orderBy: createdAt, orderDirection: desc) {{ {AGENT} {FILE} }} }}",
    "1,000 newest feedback with agents": "{ feedbacks(first: 1000, orderBy: createdAt, orderDirection: desc) "
    "{ id value tag1 tag2 clientAddress isRevoked createdAt agent { id } responses { id } } }",
    "one agent": f'{{ agent(id: "CHAIN:1") {{ {AGENT} {FILE} }} }}',
    "lists at the greatest depth": "{ agents(first: 5) { feedback(first: 5) { agent { feedback(first: 5) { agent "
    "{ feedback(first: 5) { agent { feedback(first: 5) { id } } } } } } } } }",
}
"""The queries, by their names."""


def graphql(reader: Reader, repeats: int) -> None:
    """Measure GraphQL, and print a table."""
    registries = reader.read(read_registries)
    cards = select(func.count()).select_from(files.registration_card)
    print(f"\n{reader.dialect}, {reader.read(lambda value: value.execute(cards).scalar_one()):,} registration files\n")
    print_head("query", "kB", "p50 ms", "processor ms", "limit ms", "within")
    chain_id = min(registries.by_chain)
    for name, text in QUERIES.items():
        request = GraphqlRequest(text.replace("CHAIN", str(chain_id)), {})

        def ask(request: GraphqlRequest = request) -> int:
            return len(reader.read(Checked(request).answer, registries, chain_id))

        size, times = ask(), Times.of(ask, repeats)
        verdict = within(times.at(0.5), LIMITS[name]) if name in LIMITS else ("", "")
        print_row(name, f"{size / 1000:,.0f}", f"{times.at(0.5):.0f}", f"{times.processor[0]:.0f}", *verdict)


def main() -> None:
    """Measure, and print a table."""
    parser = WorldParser("Measure searches on an index of a made-up world.", copies=True)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--limit", type=float, default=100.0, help="Milliseconds of a gated search, p95.")
    parser.add_argument("--repeats", type=int, default=7, help="Answers to each query of GraphQL; none for 0.")
    arguments = parser.parsed()
    agents = open_world(arguments)
    reader = Reader(arguments.database, seconds=60.0)
    questions, tags = searches(reader, arguments.seed), random.Random(arguments.seed)  # noqa: S311  # not secret
    asked: dict[str, tuple[Callable[[], object], float]] = {
        "gated search, one or two words": (lambda: reader.read(search_agents, next(questions)), arguments.limit),
        "leaders by lower bound": (lambda: reader.read(leaderboard, tags.choice(_TAGS)), 10.0),
    }
    print(f"{reader.dialect}, {agents:,} agents\n")
    print_head("question", *COLUMNS)
    for name, (ask, limit) in asked.items():
        Times.of(ask, 10)  # warm
        print_row(name, *Times.of(ask, arguments.questions).row(limit))
    if arguments.repeats:
        graphql(reader, arguments.repeats)
    reader.close()


if __name__ == "__main__":
    main()
