"""`python -m bench.semantic`: how well and how fast questions in other words find agents of a made-up world.

    python -m bench.semantic --database sqlite:///world.sqlite

An empty database is filled first, as by `python -m bench.search`. The files say in their names and capabilities which
themes their agents know. A question paraphrases one or two themes, so the files themselves tell which agents answer it.
The same seed makes the same questions. An agent that names both things that a question asks for counts three times as
much as one that names one of them.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import log2
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, select

from bench.report import table_head, table_row, write_part
from bench.search import COLUMNS, Times
from bench.world.build import WorldParser, open_world
from bench.world.people import PARAPHRASES
from bilateral.core.errors import InvalidArgumentError
from bilateral.index.files import tables as files
from bilateral.index.files.tables import agent_file
from bilateral.index.log.database import open_database
from bilateral.index.reading.readers import Reader
from bilateral.index.search.filters import AgentSearch, Gate, Order
from bilateral.index.search.matching import matcher_of
from bilateral.index.search.nearest import meanings_of
from bilateral.index.search.queries import search_agents
from bilateral.index.search.reader import MAX_SECTION, embedder, fill_vectors, vector_row
from bilateral.index.search.tables import registration_vector

_JUDGED: Final = 10
_OPENINGS: Final = (
    *("someone who can {}", "who can {} for me", "I need help to {}", "find a service to {}"),
    *("is there a bot that can {}", "I am looking for somebody to {}", "{}"),
)


KINDS: Final = (
    *("one theme in other words", "two in other words", "one by its name, one in other words", "an agent's name"),
)
"""The kinds of questions, which take turns."""


@dataclass(frozen=True)
class Question:
    """A question with known answers.

    Attributes:
        text: The question.
        asked: The themes that it asks for, or a theme and a word of a name.
    """

    text: str
    asked: frozenset[str]

    def relevance(self, known: frozenset[str]) -> int:
        """Return the number of things asked for that a file names.

        Args:
            known: The things that the file names, see `known_of`.
        """
        return len(known & self.asked)


def questions(files: Sequence[frozenset[str]], count: int = 200, seed: int = 1) -> list[Question]:
    """Return different questions, each of which a file answers in full. They take turns among `KINDS`.

    Args:
        files: The things that each file names, see `known_of`.
        count: The number of questions.
        seed: The seed.
    """
    chance = random.Random(seed)  # noqa: S311  # reproducible, not secret
    able = [known for known in files if len(known & PARAPHRASES.keys()) > 1]
    named = [known for known in able if known - PARAPHRASES.keys()]
    asked: dict[str, Question] = {}
    while len(asked) < count:
        kind = len(asked) % len(KINDS)
        known = chance.choice(named if kind == 3 else able)  # noqa: PLR2004  # the last kind
        first, second = chance.sample(sorted(known & PARAPHRASES.keys()), 2)
        task, other = (chance.choice(PARAPHRASES[theme]) for theme in (first, second))
        opening = chance.choice(_OPENINGS)
        if kind == 0:
            text, wanted = opening.format(task), {first}
        elif kind == 1:
            text, wanted = opening.format(f"{task} and {other}"), {first, second}
        elif kind == 2:  # noqa: PLR2004
            text, wanted = f"{second} bot that can {task}", {first, second}
        else:
            name = chance.choice(sorted(known - PARAPHRASES.keys()))
            text, wanted = f"can {name.title()} {task}", {first, name}
        asked.setdefault(text, Question(text, frozenset(wanted)))
    return list(asked.values())


def known_of(name: str | None, capabilities: Sequence[str]) -> frozenset[str]:
    """Return the themes in a file's name and capabilities, and the invented word that ends the longest names.

    Args:
        name: The name.
        capabilities: The values of the capabilities.
    """
    words = (name or "").lower().split()
    listed = {word for value in capabilities for word in value.lower().replace("_", " ").replace("/", " ").split()}
    invented = {word for word in words[3:] if word not in PARAPHRASES}
    return frozenset(({*words, *listed} & PARAPHRASES.keys()) | invented)


def gain(question: Question, known: frozenset[str]) -> int:
    """Return how much an agent in a list is worth: 3 if it names both things asked for, 1 for one of them, else 0."""
    return int(2 ** question.relevance(known)) - 1


def ndcg(question: Question, listed: Sequence[frozenset[str]], every: Sequence[frozenset[str]]) -> float:
    """Return the nDCG@10 of a list: its discounted gain, as a part of the greatest that is possible.

    Args:
        question: The question.
        listed: The things that the agents of the list name.
        every: The things that each agent names.
    """
    best = sorted((gain(question, known) for known in every), reverse=True)[:_JUDGED]
    gains = [gain(question, known) for known in listed[:_JUDGED]]
    total, ideal = (sum(value / log2(place + 2) for place, value in enumerate(values)) for values in (gains, best))
    return total / ideal


class Judge:
    """The known answers of an index.

    Args:
        connection: The database.
    """

    def __init__(self, connection: Connection) -> None:
        read, capability, vector = files.registration_file.c, files.registration_capability.c, registration_vector.c
        named: dict[bytes, list[str]] = defaultdict(list)
        for content_hash, value in connection.execute(select(capability.content_hash, capability.value)):
            named[bytes(content_hash)].append(value)
        rows = connection.execute(select(read.content_hash, read.name).order_by(read.content_hash))
        known = {bytes(key): known_of(name, named[bytes(key)]) for key, name in rows}
        contents = select(agent_file.c.agent_id, files.file.c.content_hash).join(
            files.file, files.file.c.file_id == agent_file.c.file_id
        )
        self.of_agents = {int(agent): known[bytes(key)] for agent, key in connection.execute(contents)}
        vectors = connection.execute(select(vector.vector_id, vector.content_hash))
        self.of_vectors = {number: known[bytes(key)] for number, key in vectors}
        self.every = [self.of_agents[agent] for agent in sorted(self.of_agents)]

    def lists(self, connection: Connection, question: Question) -> dict[str, list[frozenset[str]]]:
        """Return what the first agents name that each way to search finds."""
        search = AgentSearch(text=question.text, order=Order.MEANING)
        ways = meanings_of(connection), matcher_of(connection)
        by_meaning, by_words, ids = ways[0].lists(connection, ways[1], embedder().question(question.text), search.words)
        rows = {"rare words alone": by_words, "vectors alone": by_meaning}
        return {
            "all words, the usual search": self._found(connection, AgentSearch, text=question.text),
            **{way: [self.of_vectors[int(ids[row])] for row in listed] for way, listed in rows.items()},
            "fused, `order=meaning`": self._found(connection, AgentSearch, text=question.text, order=Order.MEANING),
        }

    def _found(
        self, connection: Connection, search: Callable[..., AgentSearch], **conditions: Any
    ) -> list[frozenset[str]]:
        """Return what the agents of the first page name."""
        try:
            page = search_agents(connection, search(**conditions), limit=_JUDGED)
        except InvalidArgumentError:  # more words than a search takes
            return []
        return [self.of_agents[agent.agent_id] for agent in page.items]


def judged(reader: Reader, judge: Judge, asked: Sequence[Question]) -> Mapping[str, list[float]]:
    """Return the nDCG@10 of each way to search, for each question."""
    scores: dict[str, list[float]] = defaultdict(list)
    for question in asked:
        for way, listed in reader.read(judge.lists, question).items():
            scores[way].append(ndcg(question, listed, judge.every))
    return scores


def stuffed(connection: Connection, asked: Sequence[Question]) -> dict[str, int]:
    """Return for how many questions a file that lists all themes would be among the ten that come closest."""
    import numpy as np  # noqa: PLC0415  # beside the figures alone

    every = " ".join((*PARAPHRASES, *(task for tasks in PARAPHRASES.values() for task in tasks)))
    shapes = {
        "in its description": ("Helper", every, ()),
        "in its capabilities": ("Helper", "", tuple(PARAPHRASES)),
        "in its name as well": (every[:MAX_SECTION], every, tuple(PARAPHRASES)),
    }
    matcher, meanings, counts = matcher_of(connection), meanings_of(connection), dict.fromkeys(shapes, 0)
    for question in asked:
        wanted = embedder().question(question.text)
        by_meaning, _, ids = meanings.lists(connection, matcher, wanted, [])
        tenth = int(ids[by_meaning[_JUDGED - 1]])
        column = registration_vector.c
        (stored,) = connection.execute(select(column.vector).where(column.vector_id == tenth)).scalars()
        for shape, sections in shapes.items():
            vector = vector_row(b"", *sections, [])["vector"]
            ours, least = (float(np.frombuffer(data, np.int8).astype(np.float32) @ wanted) for data in (vector, stored))
            counts[shape] += ours >= least
    return counts


def main() -> None:
    """Measure, print the tables, and write them into a page."""
    parser = WorldParser("Measure searches by meaning on an index of a made-up world.")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--limit", type=float, default=100.0, help="Milliseconds of a search, p95.")
    parser.add_argument("--page", type=Path, help="The page to write the tables into; none if left out.")
    arguments = parser.parsed()
    open_world(arguments)
    engine = open_database(arguments.database)
    began = time.perf_counter()
    if filled := fill_vectors(engine):
        print(f"{filled:,} vectors in {time.perf_counter() - began:.1f} s\n")
    engine.dispose()
    reader = Reader(arguments.database, seconds=60.0)
    judge = reader.read(Judge)
    asked = questions(judge.every, arguments.questions, arguments.seed)
    began = time.perf_counter()
    reader.read(search_agents, AgentSearch(text=asked[0].text, order=Order.MEANING))
    loaded = time.perf_counter() - began
    scores = judged(reader, judge, asked)
    counts = reader.read(stuffed, asked)
    figures = table_head(f"nDCG@10, {len(judge.every):,} files", "all", *KINDS)
    for way, values in scores.items():
        of_kinds = [values, *(values[kind :: len(KINDS)] for kind in range(len(KINDS)))]
        figures.append(table_row(way, *(f"{sum(listed) / len(listed):.3f}" for listed in of_kinds)))
    places = " and ".join(f"for {number} questions if it lists them {shape}" for shape, number in counts.items())
    figures += ["", f"A file stuffed with all themes would be among the ten closest {places}."]
    times = table_head(f"question, on `{reader.dialect}`", *COLUMNS)
    gate = Gate(tag="starred", minimum=50, count=3)  # type: ignore[arg-type]  # a whole number
    for name, gates in (("by meaning", ()), ("by meaning, gated", (gate,))):
        texts = cycle(question.text for question in asked)

        def ask(texts: Any = texts, gates: Any = gates) -> object:
            search = AgentSearch(text=next(texts), gates=gates, order=Order.MEANING)
            return reader.read(search_agents, search)

        Times.of(ask, 10)  # warm
        times.append(table_row(name, *Times.of(ask, 2 * len(asked)).row(arguments.limit)))
    print("\n".join((*figures, "", f"first search, which loads the vectors: {loaded:.1f} s", "", *times)))
    if arguments.page is not None:
        for part, lines in (("figures", figures), (f"times of {reader.dialect}", times)):
            text = "\n" + "\n".join(lines) + "\n"
            write_part(arguments.page, f"<!-- make bench-semantic: {part} -->\n", "\n<!-- end -->", text)
    reader.close()


if __name__ == "__main__":
    main()
