"""Made-up queries never make the service fail, and never take long. `make fuzz-graphql` sends 10,000 of them."""

from __future__ import annotations

import gc
import json
import math
import os
import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from graphql import GraphQLObjectType, get_named_type
from sqlalchemy import text

from bilateral.api.graphql.schema import PLURALS, entity_types, graphql_schema, is_derived
from tests.api.graphql.oracle import GARBAGE, Generator, everything

QUERIES = int(os.environ.get("QUERIES", "80"))
SEED = int(os.environ.get("SEED", "1"))
LONGEST = float(os.environ.get("LONGEST", "inf"))
"""Seconds that no answer may take. A busy machine delays some, so a slow query is asked again: then its processor time
counts, of the service and of PostgreSQL."""

LIMIT = 1.8 if math.isfinite(LONGEST) else 10.0
"""Seconds of a query's statements: the default of the service if answers are timed."""

HANGING = 20
"""Seconds for which no query waits for something else than a core. None of them is processor time."""

REPORTED = 1_000

LEVELS = 4
"""Levels of entities below those at the root."""


class Fuzzer:
    """Makes queries of which most are valid, some are spoilt, and a few are nonsense.

    Args:
        seed: The seed.
        rows: Rows whose values filters use.
    """

    def __init__(self, seed, rows):
        self.random = random.Random(seed)  # noqa: S311  # tests repeat
        self._pages = Generator(seed, rows, graphql_schema())

    def request(self):
        """Return the body of a request."""
        variables = {}
        roots = [self._root(at, variables) for at in range(self.random.choice([1, 1, 1, 2, 3]))]
        declared = ", ".join(f"${name}: {type_}" for name, (type_, _) in variables.items())
        text = f"query Q{f'({declared})' if declared else ''} {{ {' '.join(roots)} }}"
        values = {name: value for name, (_, value) in variables.items()}
        if self.random.random() < 0.3:
            text = self._spoilt(text)
        if self.random.random() < 0.1:
            values = self._nonsense(3)
        return {"query": text, "variables": values}

    def _root(self, number, variables):
        """Return a field at the root, and declare its variables."""
        entity, where, order_by, descending, first, skip = self._pages.page()
        if self.random.random() < 0.1:
            identifier = json.dumps(self.random.choice(GARBAGE["ID"]))
            return (
                f"r{number}: {entity[0].lower() + entity[1:]}(id: {identifier}) {{ {self._selection(entity, LEVELS)} }}"
            )
        variables[f"w{number}"] = (f"{entity}_filter", where)
        direction = "desc" if descending else "asc"
        if self.random.random() < 0.1:
            first = self.random.choice([0, -1, 1001, 10**12])
        arguments = f"where: $w{number}, orderBy: {order_by}, orderDirection: {direction}, first: {first}, skip: {skip}"
        return f"r{number}: {PLURALS[entity][0]}({arguments}) {{ {self._selection(entity, LEVELS)} }}"

    def _selection(self, entity, depth):
        """Return some fields of an entity."""
        fields = entity_types()[entity].fields
        chosen = self.random.sample(list(fields), self.random.randint(1, min(8, len(fields))))
        parts = ["id"]
        for name in chosen:
            named = get_named_type(fields[name].type)
            if not isinstance(named, GraphQLObjectType):
                parts.append(name)
            elif depth:
                page = f"(first: {self.random.choice([1, 2, 100])})" if is_derived(fields[name]) else ""
                parts.append(f"{name}{page} {{ {self._selection(named.name, depth - 1)} }}")
        if self.random.random() < 0.05:
            parts += [self.random.choice(parts)] * self.random.choice([1, 2, 28, 29, 30, 400])
        return " ".join(self.random.sample(parts, len(parts)))

    def _spoilt(self, text):
        """Return a text with a part removed, doubled, moved or replaced."""
        start = self.random.randrange(len(text))
        end = min(len(text), start + self.random.randint(1, 12))
        part = text[start:end]
        new = self.random.choice(
            [
                "",
                part * 2,
                part * 40,
                "id " * 1_500,
                "{",
                "}",
                "null",
                "\0",
                '"',
                "...",
                "@skip(if: true)",
                "$w0",
                "1e9",
            ]
        )
        return text[:start] + new + text[end:]

    def _nonsense(self, depth):
        """Return variables that nobody asked for."""
        leaf = [None, True, -1, 2**70, 1e308, "", "x" * 500, "\ud83d\ude00", "\ud800", "\0", "0x", []]
        if not depth or self.random.random() < 0.4:
            return {"w0": self.random.choice(leaf)}
        return {
            "w0": {self.random.choice(["or", "and", "id", "agent_", "owner_in"]): [self._nonsense(depth - 1)["w0"]]}
        }


@pytest.fixture
def frozen_objects():
    """Keep the garbage collector from the objects of all tests: a look at them takes a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def fuzzer(query):
    return Fuzzer(SEED, everything(query))


@dataclass(frozen=True)
class Usage:
    """Seconds that threads have had since they began.

    Attributes:
        computed: On a core.
        delayed: Ready to compute, while others had the cores.
    """

    computed: float
    delayed: float


def usage_of(pid):
    """Return the usage of the threads of a process."""
    seconds = [0, 0]
    with suppress(FileNotFoundError, ProcessLookupError):  # it ended, or one of its threads
        for thread in Path(f"/proc/{pid}/task").iterdir():
            shown = (thread / "schedstat").read_text().split()
            seconds = [total + int(part) / 1e9 for total, part in zip(seconds, shown, strict=False)]
    return Usage(*seconds)


def usages(reader):
    """Return the usage of this process, with the service in it, and of each backend of PostgreSQL."""
    pids = [os.getpid()]
    if reader.dialect == "postgresql":
        backends = text("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        pids += reader.read(lambda connection: connection.execute(backends).scalars().all())
    return {pid: usage_of(pid) for pid in pids}


class Asker:
    """Sends queries, and looks at what they cost.

    Args:
        api: The service.
        reader: Its database.
    """

    def __init__(self, api, reader):
        self._api = api
        self._reader = reader

    def ask(self, body):
        """Return the answer to a query, its seconds by the clock, and those for which it was computed."""
        before = usages(self._reader)
        answer = self._api.post("/graphql/31337", content=json.dumps(body), timeout=None)  # ASCII: any text can be sent
        now = usages(self._reader)
        was_late = answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert was_late or answer.status_code in (200, 400), (answer.status_code, answer.text, body)
        seconds = answer.elapsed.total_seconds()
        started = Usage(0.0, 0.0)
        computed = sum(max(0.0, usage.computed - before.get(pid, started).computed) for pid, usage in now.items())
        delayed = sum(max(0.0, usage.delayed - before.get(pid, started).delayed) for pid, usage in now.items())
        assert seconds - computed - delayed < HANGING, (seconds, computed, delayed, body)
        return answer, seconds, computed


@pytest.mark.one_engine
@pytest.mark.usefixtures("frozen_objects")
def test_made_up_queries_are_answered_in_time(api_with, api_reader, fuzzer):
    answered, ended, slowest = 0, 0, 0.0
    with api_with(query_seconds=LIMIT) as api:
        asker = Asker(api, api_reader)
        for number in range(1, QUERIES + 1):
            body = fuzzer.request()
            answer, seconds, _ = asker.ask(body)
            if seconds > LONGEST or answer.status_code == 503 or "longer than" in answer.text:
                answer, seconds, computed = asker.ask(body)
                seconds = min(seconds, computed)
            assert seconds <= LONGEST, (seconds, number, body)
            ended += answer.status_code == 503 or "longer than" in answer.text
            answered += "data" in answer.json()
            slowest = max(slowest, seconds)
            if not number % REPORTED:
                print(f"{number} queries, seed {SEED}: {answered} with data, {ended} ended by the time limit")
                print(f"the slowest took {slowest:.2f} s", flush=True)
    assert answered > QUERIES // 5
    assert ended <= QUERIES // 100
