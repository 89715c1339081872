"""The order of meaning: who comes closest to a question in other words, and who cannot push to the front."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode

import numpy as np
import pytest
from sqlalchemy import delete, insert, update

from bench.world.people import PARAPHRASES
from bilateral.core.errors import InvalidArgumentError, MissingExtraError
from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.reading.pages import InvalidCursorError
from bilateral.index.search import nearest as meanings
from bilateral.index.search import plans, reader
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.matching import matcher_of
from bilateral.index.search.queries import search_agents
from bilateral.index.search.reader import embedder
from bilateral.index.search.tables import registration_vector
from bilateral.index.standing.tables import standing
from tests.index.conftest import CHAIN_ID
from tests.index.files.conftest import registered, uri_updated
from tests.index.search.test_brute_force import FIGURES, keys

TRANSLATOR = "someone who can translate contracts into German"
AGENTS = {
    "Lingua Bridge": "Certified translations of legal documents between English and German.",
    "Sky Oracle": "Hourly forecasts of rain, wind and temperature for any place.",
    "Code Auditor": "Reviews smart contracts for vulnerabilities before they are deployed.",
    "Trip Desk": "Finds and books plane tickets and rooms.",
    "Gambit": "Teaches chess: openings, tactics and endgames.",
    "Kabako": "Cooks up recipes from what is left in your kitchen.",
}
EVERYTHING = " ".join(
    (*AGENTS, *AGENTS.values(), *PARAPHRASES, *(task for tasks in PARAPHRASES.values() for task in tasks))
)
QUESTIONS = {
    TRANSLATOR: "Lingua Bridge",
    "will it be stormy tomorrow": "Sky Oracle",
    "find security bugs in Solidity code": "Code Auditor",
    "I want to fly to Paris and need a hotel": "Trip Desk",
    "coach me in a board game": "Gambit",
}


def data_uri(**fields):
    return f"data:application/json;base64,{b64encode(json.dumps(fields).encode()).decode()}"


@pytest.fixture
def known(story):
    """A chain with the agents, in their order."""
    for agent_id, (name, description) in enumerate(AGENTS.items(), 1):
        story.block(*registered(data_uri(name=name, description=description, active=True), agent_id=agent_id))
    story.scan_all()
    return story


@pytest.fixture
def names(story):
    """Return the names of the agents that a question finds."""

    def ask(text, **conditions):
        with story.engine.connect() as connection:
            search = AgentSearch(text=text, order=Order.MEANING, **conditions)
            return [item.name for item in search_agents(connection, search).items]

    return ask


def test_a_question_in_other_words_finds_its_agent_first(known, names):
    assert {question: names(question)[0] for question in QUESTIONS} == QUESTIONS
    assert names("Kabako please")[0] == "Kabako"  # a rare word leads, whatever it means
    assert names(" ".join([TRANSLATOR, *map(str, range(100))]))[0] == "Lingua Bridge"  # longer than usual searches
    assert names("👩‍🍳 合同 翻訳 ß") == []


@pytest.mark.parametrize(
    "stuffed",
    [
        {"name": "Helper", "description": EVERYTHING},
        {"name": EVERYTHING[:200], "description": EVERYTHING},
        {
            "name": "Helper",
            "services": [{"name": "OASF", "endpoint": "https://a.example", "skills": EVERYTHING.split()}],
        },
    ],
    ids=["description", "name", "skills"],
)
def test_an_agent_that_lists_everything_leads_no_question_of_others(known, names, stuffed):
    known.block(*registered(data_uri(**stuffed), agent_id=7))
    known.scan_all()
    assert {question: names(question)[0] for question in QUESTIONS} == QUESTIONS


def test_filters_leave_agents_out_and_pages_hold_each_agent_once(known, names):
    known.block(uri_updated(data_uri(name="Lingua Bridge", description=AGENTS["Lingua Bridge"], active=False)))
    known.scan_all()
    assert "Lingua Bridge" not in names(TRANSLATOR, active=True)
    text = "translate German documents, forecasts of rain, bugs in contracts, book tickets, chess moves, recipes"
    search, paged, cursor = AgentSearch(text=text, order=Order.MEANING), [], None
    with known.engine.connect() as connection:
        whole = search_agents(connection, search)
        while len(paged) < len(whole.items):
            page = search_agents(connection, search, limit=2, cursor=cursor)
            paged += keys(page)
            cursor = page.next
        assert cursor is None
        assert paged == keys(whole)
        assert len(paged) > 3
        first = search_agents(connection, search, limit=1)
        with pytest.raises(InvalidCursorError):
            search_agents(connection, AgentSearch(text=text), cursor=first.next)


def test_agents_that_are_held_back_come_last_and_one_file_ranks_by_standing(known, names):
    same = data_uri(name="Lingua Bridge", description=AGENTS["Lingua Bridge"], active=True)
    known.block(*registered(same, agent_id=7), *registered(same, agent_id=8))
    known.scan_all()
    with known.engine.begin() as connection:
        registry = connection.execute(agent.select().limit(1)).one().identity_registry
        key = {"chain_id": CHAIN_ID, "identity_registry": registry, "side": "server"}
        for agent_id, rank in ((1, None), (7, 20.0), (8, 70.0)):
            connection.execute(insert(standing).values(**key, agent_id=agent_id, rank=rank, status="ok", **FIGURES))
    with known.engine.connect() as connection:
        agents = search_agents(connection, AgentSearch(text=TRANSLATOR, order=Order.MEANING)).items
    assert [item.agent_id for item in agents[:2]] == [8, 7]
    assert agents[-1].agent_id == 1


def test_meanings_follow_files_and_reorganisations(known, names):
    assert names("will it be stormy tomorrow")[0] == "Sky Oracle"
    block = known.store.cursor().number
    known.block(uri_updated(data_uri(name="Dentist", description="Cleans and fills teeth."), agent_id=2))
    assert "Sky Oracle" not in names("will it be stormy tomorrow")
    known.scan_all()
    assert names("my tooth hurts")[0] == "Dentist"
    known.roll_back(block)
    assert names("will it be stormy tomorrow")[0] == "Sky Oracle"
    assert "Dentist" not in names("my tooth hurts")


def test_missing_and_older_vectors_are_computed_anew(known, names, monkeypatch):
    before = sorted((row["content_hash"], row["vector"], row["words"]) for row in known.rows(registration_vector))
    with known.engine.begin() as connection:
        column = registration_vector.c.vector_id
        connection.execute(delete(registration_vector).where(column % 2 == 0))
        connection.execute(update(registration_vector).values(model="older", vector=bytes(256)))
    monkeypatch.setattr(reader, "_AT_ONCE", 4)
    assert reader.fill_vectors(known.engine) == len(AGENTS)
    assert reader.fill_vectors(known.engine) == 0
    after = sorted((row["content_hash"], row["vector"], row["words"]) for row in known.rows(registration_vector))
    assert after == before
    assert names(TRANSLATOR)[0] == "Lingua Bridge"


def test_two_files_with_one_content_have_its_vector(story):
    content = json.dumps(
        {"name": "Lingua Bridge", "supportedTrust": [f"trust {word}" * 12 for word in EVERYTHING.split()[:6]]}
    )
    base64 = f"data:application/json;base64,{b64encode(content.encode()).decode()}"
    story.block(*registered(content, agent_id=1), *registered(base64, agent_id=2))
    story.scan_all()
    (before,) = story.rows(registration_vector)
    with story.engine.begin() as connection:
        connection.execute(delete(registration_vector))
    assert reader.fill_vectors(story.engine) == 1
    (after,) = story.rows(registration_vector)
    assert after["vector"] == before["vector"]


def test_vectors_of_files_that_are_gone_are_forgotten(known, names, monkeypatch):
    assert names(TRANSLATOR)[0] == "Lingua Bridge"
    known.roll_back(known.store.cursor().number - len(AGENTS))
    with known.engine.begin() as connection:
        connection.execute(delete(files.file))
        connection.execute(delete(files.file_content))
    with known.engine.connect() as connection:
        loaded = meanings.meanings_of(connection)
        ask = connection, matcher_of(connection), embedder().question(TRANSLATOR), []
        assert len(loaded.lists(*ask)[2]) == len(AGENTS)
        monkeypatch.setattr(meanings, "_RECOUNT_SECONDS", -1.0)
        assert len(loaded.lists(*ask)[2]) == 0


def test_the_order_is_that_of_exact_products(connection, monkeypatch):
    monkeypatch.setattr(meanings, "_CHUNK", 16)
    stored = {row.vector_id: np.frombuffer(row.vector, np.int8).tolist() for row in _vectors(connection)}
    assert len(stored) > 16
    for question in list(PARAPHRASES["weather"] + PARAPHRASES["translation"]):
        vector = embedder().question(question)
        wanted = [int(part) for part in vector]
        products = {key: sum(map(int.__mul__, other, wanted)) for key, other in stored.items()}
        expected = sorted(
            (key for key in stored if products[key] > 0.1 * 254**2), key=lambda key: (-products[key], key)
        )
        by_meaning, _, ids = meanings.meanings_of(connection).lists(connection, matcher_of(connection), vector, [])
        assert ids[by_meaning].tolist() == expected[:200]


def _vectors(connection):
    return connection.execute(registration_vector.select())


def test_without_the_extra_files_have_no_vectors_and_the_order_says_what_to_install(story, names, monkeypatch):
    def missing():
        raise MissingExtraError("semantic", ["wordllama"])

    monkeypatch.setattr(reader, "embedder", missing)
    monkeypatch.setattr(plans, "embedder", missing)
    monkeypatch.setattr(reader, "has_model", lambda: False)
    story.block(*registered(data_uri(name="Lingua Bridge")))
    story.scan_all()
    assert (story.rows(registration_vector), reader.fill_vectors(story.engine)) == ([], 0)
    with pytest.raises(InvalidArgumentError, match=r"pip install 'bilateral\[semantic\]'"):
        names(TRANSLATOR)


def test_the_model_needs_no_network_and_no_home_folder(tmp_path):
    program = (
        "import socket, sys; from bilateral.index.search.reader import embedder; socket.socket = None; "
        f"print(embedder().vector([({TRANSLATOR!r}, 1.0)]).hex()); "
        "print([name for name in ('wordllama', 'requests', 'huggingface_hub') if name in sys.modules])"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.split("\n")[:2] == [embedder().vector([(TRANSLATOR, 1.0)]).hex(), "[]"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [None, " ", "?!"])
def test_the_order_needs_a_text(text):
    with pytest.raises(InvalidArgumentError):
        AgentSearch(text=text, order=Order.MEANING)
