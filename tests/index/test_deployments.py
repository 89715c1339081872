"""Registries of others and of this project, on one chain: indexed from its RPC URL, as README shows it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import ape
import pytest
from eth_utils.crypto import keccak
from sqlalchemy import select
from web3 import HTTPProvider, Web3

from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import AttestedPayment
from bilateral.core.contracts.records import BOOK
from bilateral.core.errors import MalformedNodeAnswerError, NodeError
from bilateral.core.events import Registered
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.log import tables as schema
from bilateral.index.log.database import open_database
from bilateral.index.log.registries import registries_of
from bilateral.index.operating.verification import Verifier, compare_owners
from bilateral.index.projections import DERIVED_TABLES
from tests.index.proxy import Proxy, refusal
from tests.index.test_commands import bilateral
from tests.sdk.client.helpers import deploy, plain
from tests.sdk.deployed.world import CANONICAL, CHAIN_ID, CHECKER, OWNER, PAYER, REVIEWER, canonical_chain, put_ours

README = Path(__file__).parents[2] / "README.md"
URI = "data:application/json,%7B%22name%22%3A%22Foreign%22%7D"


def transact(web3, function, sender):
    """Send a transaction from an account that the chain itself signs for."""
    receipt = web3.eth.wait_for_transaction_receipt(function.transact({"from": sender.address}), poll_latency=0.01)
    assert receipt["status"] == 1


@pytest.fixture(scope="module")
def url(project):
    with canonical_chain() as running:
        yield running


@pytest.fixture(scope="module")
def web3(url):
    return Web3(HTTPProvider(url))


@pytest.fixture(scope="module")
def ours(web3):
    """This project's registries on the same chain, with an agent of the August 2025 functions."""
    deployment = put_ours(web3)
    identity = plain(web3, Registry.IDENTITY, deployment.identity)
    reputation = plain(web3, Registry.BIDIRECTIONAL, deployment.reputation)
    transact(web3, identity.functions.newAgent("Old.example", OWNER.address), OWNER)
    transact(web3, identity.functions.updateAgent(1, "new.example", PAYER.address), OWNER)
    transact(web3, identity.functions.register(URI), REVIEWER)
    transact(web3, identity.functions.setPrimaryAgent(1), PAYER)
    transact(web3, reputation.functions.rateClient(2, 90), PAYER)
    buyers = plain(web3, Registry.BUYERS, deployment.buyers)
    transact(web3, buyers.functions.recordPayment(PAYER.address, 20_000, b"\1" * 32), OWNER)
    transact(web3, buyers.functions.recordFeedback(PAYER.address, REVIEWER.address, 90), OWNER)
    transact(web3, buyers.functions.anchorRoot(1, b"\2" * 32), CHECKER)
    return deployment


@pytest.fixture(scope="module")
def theirs(web3):
    """The canonical registries, with an agent that has the id 0, is approved, transferred, rated and validated."""
    identity = plain(web3, Registry.IDENTITY, CANONICAL.identity)
    reputation = plain(web3, Registry.REPUTATION, CANONICAL.reputation)
    validation = plain(web3, Registry.VALIDATION, CANONICAL.validation)
    transact(web3, identity.functions.register(URI), OWNER)
    transact(web3, identity.functions.approve(REVIEWER.address, 0), OWNER)
    transact(web3, identity.functions.setApprovalForAll(REVIEWER.address, True), OWNER)
    transact(web3, identity.functions.transferFrom(OWNER.address, PAYER.address, 0), OWNER)
    feedback = (0, 95, 0, "starred", "", "", "", bytes(32))
    transact(web3, reputation.functions.giveFeedback(*feedback), REVIEWER)
    transact(web3, reputation.functions.giveFeedback(*feedback), REVIEWER)
    transact(web3, reputation.functions.revokeFeedback(0, 1), REVIEWER)
    transact(web3, validation.functions.validationRequest(REVIEWER.address, 0, "", b"\1" * 32), PAYER)
    transact(web3, validation.functions.validationResponse(b"\1" * 32, 80, "", bytes(32), ""), REVIEWER)
    directory = deploy(web3, ape.project.CompanionDirectory, CANONICAL.identity)
    companion = plain(web3, Registry.COMPANION, directory)
    for agent_id, owner in ((1, REVIEWER), (2, OWNER)):
        transact(web3, identity.functions.register(), owner)
        transact(web3, companion.functions.setPrimaryAgent(agent_id), owner)
    transact(web3, identity.functions.transferFrom(OWNER.address, PAYER.address, 2), OWNER)
    return replace(CANONICAL, directory=directory)


@pytest.fixture(scope="module")
def rows(url, ours, theirs, tmp_path_factory):
    """Index both deployments of the chain, and return what reads a table."""
    folder = tmp_path_factory.mktemp("index")
    database = f"sqlite:///{folder / 'index.sqlite'}"
    for name, deployment, facts in (("ours", ours, {}), ("theirs", theirs, {"origin": "canonical", "firstAgentId": 0})):
        registries = registries_of([deployment]).items()
        contracts = {registry.value: {"address": address, **facts} for address, registry in registries}
        (folder / f"{name}.json").write_text(json.dumps({"chainId": CHAIN_ID, "contracts": contracts}))
    settings = folder / "index.toml"
    settings.write_text(f'[[chain]]\nrpc_urls = ["{url}"]\ndeployments = ["ours.json", "theirs.json"]\n')
    code, _, told = bilateral("run", "--settings", settings, "--database", database, "--until-head")
    assert code == 0, told
    engine = open_database(database)

    def read(query, **parameters):
        with engine.connect() as connection:
            return connection.exec_driver_sql(query, parameters).all()

    read.engine = engine
    yield read
    engine.dispose()


def test_agents_of_both_deployments_are_kept_apart_and_agent_0_counts(rows, web3, ours, theirs):
    agents = rows("SELECT identity_registry, agent_id, owner, wallet, domain FROM agent")
    assert set(agents) == {
        (theirs.identity, 0, PAYER.address, None, ""),
        (theirs.identity, 1, REVIEWER.address, REVIEWER.address, ""),
        (theirs.identity, 2, PAYER.address, None, ""),
        (ours.identity, 1, PAYER.address, None, "new.example"),
        (ours.identity, 2, REVIEWER.address, REVIEWER.address, ""),
    }
    registry = plain(web3, Registry.IDENTITY, ours.identity)
    assert [registry.functions.getAgentWallet(number).call() for number in (1, 2)] == [
        "0x" + "00" * 20,
        REVIEWER.address,
    ]
    primary = rows("SELECT account, agent_id FROM primary_agent WHERE identity_registry = :at", at=ours.identity)
    assert set(primary) == {(PAYER.address, 1), (REVIEWER.address, 2)}


def test_events_of_both_generations_approvals_and_transfers_have_rows(rows, ours, theirs):
    counts = {
        (table, registry): rows(f'SELECT count(*) FROM "{table}" WHERE registry = :at', at=registry)[0][0]  # noqa: S608  # ours
        for table in ("transfer", "approval", "approval_for_all", "registered", "agent_registered", "agent_updated")
        for registry in (ours.identity, theirs.identity)
    }
    assert [counts[name, theirs.identity] for name in ("transfer", "approval", "approval_for_all")] == [5, 1, 1]
    assert [counts[name, ours.identity] for name in ("agent_registered", "agent_updated")] == [1, 1]
    assert [counts[name, theirs.identity] for name in ("registered", "agent_registered")] == [3, 0]


def test_feedback_ratings_and_validations_of_both_have_their_states(rows, ours, theirs):
    assert rows("SELECT registry, agent_id, is_revoked FROM feedback ORDER BY feedback_index") == [
        (theirs.reputation, 0, 1),
        (theirs.reputation, 0, 0),
    ]
    assert set(rows("SELECT registry, agent_id, side, count FROM summary")) == {
        (theirs.reputation, 0, "server", 1),
        (ours.reputation, 2, "client", 1),
    }
    assert rows("SELECT registry, agent_id, response FROM validation") == [(theirs.validation, 0, 80)]


def test_files_of_both_are_read(rows, ours, theirs):
    agents = rows("SELECT identity_registry, agent_id, name FROM agent_registration")
    assert set(agents) == {(theirs.identity, 0, "Foreign"), (ours.identity, 2, "Foreign")}


def test_a_change_of_the_code_of_a_registry_leaves_a_trace(rows, theirs):
    topic = keccak(text="Initialized(uint64)")
    undecodable = rows("SELECT registry, topics, reason FROM undecodable_log")
    assert (theirs.identity, topic, "IdentityRegistry has no event with this first topic") in undecodable


def test_statements_about_buyers_roots_and_roles_have_rows(rows, ours):
    (word,) = rows("SELECT payment FROM payment_attested WHERE registry = :at", at=ours.buyers)[0]
    paid = AttestedPayment.from_word(int(word, 16))
    assert (paid.buyer, paid.amount, paid.position) == (PAYER.address, 20_000, 255)
    assert rows("SELECT buyer, seller, score FROM feedback_attested") == [(PAYER.address, REVIEWER.address, 90)]
    assert rows("SELECT epoch, root FROM anchored") == [(1, b"\2" * 32)]
    assert set(rows("SELECT role, holder FROM role_taken")) == {(0, OWNER.address), (1, CHECKER.address)}


def test_each_registry_is_listed_with_its_identity_registry(rows, ours, theirs):
    registries = {address: (kind, identity) for _, address, kind, identity, _ in rows("SELECT * FROM registry")}
    assert registries == {
        address: (registry.value, deployment.identity)
        for deployment in (ours, theirs)
        for address, registry in registries_of([deployment]).items()
    }
    assert registries[theirs.reputation][0] == "ReputationRegistry"
    assert registries[ours.reputation][0] == "BidirectionalReputationRegistry"


def test_the_choices_that_a_companion_keeps_hold_while_the_account_has_the_agent(rows, web3, theirs):
    companion = plain(web3, Registry.COMPANION, theirs.directory)
    told = {
        account.address: companion.functions.agentOf(account.address).call() for account in (OWNER, REVIEWER, PAYER)
    }
    assert told == {OWNER.address: 0, REVIEWER.address: 1, PAYER.address: 0}
    primary = rows("SELECT directory, identity_registry, account, agent_id FROM companion_agent")
    assert primary == [(theirs.directory, theirs.identity, REVIEWER.address, 1)]


def test_the_rows_equal_the_chain(rows, url, ours, theirs):
    registries = registries_of([ours, theirs])
    with rows.engine.connect() as connection:
        head = connection.execute(select(schema.chain.c.block_number)).scalar_one()
    verifier = Verifier(rows.engine, Source(Endpoint(url), list(registries)), registries)
    assert all(entry.is_equal for entry in verifier.compare(0, head))


def shape(line):
    """Return a line without what differs between chains and moments: numbers, times, hosts and padding."""
    line = re.sub(r"endpoint=\S+|https?://\S+|127\.0\.0\.1:\d+|localhost:\d+|mainnet\.base\.org", "host", line)
    return re.sub(r"[\s─━┃│]+", " ", re.sub(r"\d[\d.:,-]*", "0", line)).strip()


def test_readme_shows_the_command_that_indexes_a_public_network_and_what_it_prints(url, theirs, tmp_path, monkeypatch):
    monkeypatch.delenv("BILATERAL_NO_ANALYSE")
    text = README.read_text(encoding="utf-8")
    command, printed = re.search(
        r"\n(bilateral index run [^\n]*mainnet\.base\.org[^\n]*)\n```\n+```\n(.*?)```", text, re.S
    ).groups()
    words = command.replace("https://mainnet.base.org", url).split()[2:]
    code, shown, told = bilateral(*words, "--database", f"sqlite:///{tmp_path / 'index.sqlite'}")
    assert code == 0, told
    lines = {shape(line) for line in (told + shown).splitlines()}
    for line in printed.splitlines():
        assert shape(line) in lines


def indexed_from(settings_or_url, tmp_path, *, name):
    """Index a chain by options or a file of settings, and return the addresses of the registries that the index has."""
    database = f"sqlite:///{tmp_path / f'{name}.sqlite'}"
    code, _, told = bilateral("run", *settings_or_url, "--until-head", "--no-files", "--database", database)
    assert code == 0, told
    engine = open_database(database)
    with engine.connect() as connection:
        indexed = set(connection.execute(select(schema.registry.c.address)).scalars())
        assert connection.execute(select(schema.EVENT_TABLES[Registered].c.agent_id)).scalars().all()
    engine.dispose()
    return indexed


@pytest.mark.usefixtures("theirs", "ours")
def test_an_address_book_names_the_registries_of_the_nodes_chain(url, tmp_path):
    path = README.parent / "deployments" / BOOK
    expected = set(registries_of([CANONICAL]))
    assert indexed_from(("--rpc-url", url, "--deployment", path), tmp_path, name="options") == expected
    settings = tmp_path / "index.toml"
    settings.write_text(f'[[chain]]\nrpc_urls = ["{url}"]\ndeployments = ["{path}"]\n')
    assert indexed_from(("--settings", settings), tmp_path, name="settings") == expected


def test_an_address_book_without_the_nodes_chain_is_refused(event_chain, tmp_path):
    book = ("--deployment", README.parent / "deployments" / BOOK)
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"
    code, _, told = bilateral("run", "--rpc-url", event_chain.url, *book, "--until-head", "--database", database)
    assert code == 8
    assert "the address book has no chain 31337: pass a --deployment with that chain's registries" in told


def test_other_registries_than_before_are_refused_because_their_events_would_be_missing(url, ours, theirs, tmp_path):
    database = ("--database", f"sqlite:///{tmp_path / 'index.sqlite'}")
    assert bilateral("run", "--rpc-url", url, "--until-head", *database)[0] == 0
    contracts = {registry.value: {"address": address} for address, registry in registries_of([ours]).items()}
    (tmp_path / "8453.json").write_text(json.dumps({"chainId": CHAIN_ID, "contracts": contracts}))
    code, _, told = bilateral("run", "--rpc-url", url, "--deployment", tmp_path / "8453.json", *database)
    assert code == 11
    assert "the database has other registries for chain 8453: it lacks 0x" in told
    assert f"it also has {min(theirs.identity, theirs.reputation, theirs.validation)}" in told
    assert "use the same --deployment as before, or a different --database" in told


@pytest.fixture
def verify(rows, url):
    """Verify the index by the command with further options, and return exit code and answer."""

    def run(*options):
        folder = Path(rows.engine.url.database).parent
        records = ("--deployment", folder / "ours.json", "--deployment", folder / "theirs.json")
        arguments = ("--rpc-url", url, *records, "--database", f"sqlite:///{folder / 'index.sqlite'}", "--json")
        code, shown, told = bilateral("verify", *arguments, *options)
        return code, json.loads(shown) if shown else told

    return run


@pytest.fixture
def moved(rows, ours):
    """Change the owner of an agent in the index alone, until the end of the test."""
    change = "UPDATE agent SET owner = ? WHERE identity_registry = ? AND agent_id = 2"
    with rows.engine.begin() as connection:
        connection.exec_driver_sql(change, (OWNER.address, ours.identity))
    yield f"{ours.identity} agent 2: {OWNER.address} in the index, {REVIEWER.address} on the chain"
    with rows.engine.begin() as connection:
        connection.exec_driver_sql(change, (REVIEWER.address, ours.identity))


def test_owners_and_derived_tables_of_an_untouched_index_are_verified_as_equal(rows, verify):
    before = [rows(f'SELECT * FROM "{table.name}"') for table in DERIVED_TABLES]  # noqa: S608  # ours
    code, answer = verify("--owners", 100, "--derived")
    assert (code, answer["is_equal"]) == (0, True)
    assert (answer["endpoints"][0]["owners_compared"], answer["endpoints"][0]["owners"]) == (5, [])
    assert {part["table"] for part in answer["derived"]} == {table.name for table in DERIVED_TABLES}
    assert [rows(f'SELECT * FROM "{table.name}"') for table in DERIVED_TABLES] == before  # noqa: S608  # ours


def test_an_owner_that_the_registry_does_not_name_is_told(verify, moved):
    code, answer = verify("--owners", 100)
    assert (code, answer["is_equal"], answer["derived"]) == (1, False, [])
    assert answer["endpoints"][0]["owners"] == [moved]
    assert verify()[0] == 0, "logs alone do not show it"


def test_a_changed_derived_row_is_told(verify, moved, ours):
    code, answer = verify("--derived")
    assert (code, answer["is_equal"]) == (1, False)
    (part,) = [entry for entry in answer["derived"] if entry["places"]]
    assert (part["table"], part["missing"], part["stale"], part["different"]) == ("agent", 0, 0, 1)
    assert part["places"] == [f"different identity_registry {ours.identity} agent_id 2"]


def test_one_seed_chooses_the_same_agents_again(rows, url):
    asked = []
    for seed in (1, 1, 2, 3, 4, 5):
        with Proxy(url) as node:
            owners = compare_owners(rows.engine, Endpoint(node.url), CHAIN_ID, samples=2, seed=seed)
            asked.append([str(entry) for entry in node.asked("eth_call")])
        assert (owners.compared, owners.different) == (2, ())
    assert asked[0] == asked[1]
    assert any(asked[0] != other for other in asked[2:])


def test_an_agent_that_the_registry_does_not_know_has_no_owner(rows, url, theirs):
    change = "UPDATE agent SET agent_id = ? WHERE identity_registry = ? AND agent_id = ?"
    with rows.engine.begin() as connection:
        connection.exec_driver_sql(change, (77, theirs.identity, 1))
    try:
        owners = compare_owners(rows.engine, Endpoint(url), CHAIN_ID, samples=100)
    finally:
        with rows.engine.begin() as connection:
            connection.exec_driver_sql(change, (1, theirs.identity, 77))
    assert owners.different == (f"{theirs.identity} agent 77: {REVIEWER.address} in the index, no owner on the chain",)


def test_a_node_that_lacks_the_state_is_blamed_and_not_the_owners(rows, url):
    with Proxy(url, {"eth_call": lambda *_: refusal("missing trie node")}) as node:
        with pytest.raises(NodeError, match="missing trie node"):
            compare_owners(rows.engine, Endpoint(node.url), CHAIN_ID, samples=1)
        node.rules["eth_call"] = lambda *_: "0x"
        with pytest.raises(MalformedNodeAnswerError, match="instead of an address"):
            compare_owners(rows.engine, Endpoint(node.url), CHAIN_ID, samples=1)
