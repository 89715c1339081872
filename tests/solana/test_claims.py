"""Claims of files in the index to be an agent on Solana are proven by a node, and answers of before stay the same."""

from __future__ import annotations

import pytest

from bilateral.checks.solana_claims import SECONDS, ProvenClaims, prove_claims
from bilateral.documents import Loader
from bilateral.index.files.queries import foreign_identities
from bilateral.index.log.database import open_database, snapshot
from bilateral.index.log.store import ChainStore
from bilateral.index.projections import PROJECTIONS
from bilateral.index.reading.registries import AgentKey
from bilateral.solana.addresses import MAINNET, SATI
from simulation.solana.node import NodeProblem
from tests.checks.ledger import CHAIN_ID, IDENTITY, Ledger, account, registered
from tests.checks.test_servers import data_uri, naming
from tests.solana.conftest import file_of

NOW = 1_800_000_000
HERE = {"agentRegistry": f"eip155:{CHAIN_ID}:{IDENTITY}", "agentId": 1}


@pytest.fixture
def there(world, owner):
    """An agent on Solana whose file names the agent here."""
    mint = world.register(owner)
    own = {"agentRegistry": f"{MAINNET}:{SATI}", "agentId": str(mint)}
    world.set_field(owner, mint, "uri", file_of(mint, registrations=[own, HERE]))
    return mint


@pytest.fixture
def ledger(tmp_path, there):
    """An index with an agent that claims to be the one on Solana."""
    engine = open_database(f"sqlite:///{tmp_path / 'index.sqlite'}")
    made = Ledger(engine, ChainStore(engine, CHAIN_ID, PROJECTIONS), Loader())
    claim = {"agentRegistry": f"{MAINNET}:{SATI}", "agentId": str(there)}
    made.block(registered(1, account(1), data_uri(registrations=[*naming(), claim])))
    made.settle()
    yield made
    engine.dispose()


@pytest.fixture
def prove(ledger, rpc):
    """Asks the node about all claims, some days later."""

    def ask(days=0):
        return prove_claims(ledger.engine, ledger.loader, [rpc], now=NOW + days * (SECONDS + 1))

    return ask


def codes(check):
    return {reason.code for reason in check.reasons if reason.code.startswith("also")}


def shown(ledger):
    with snapshot(ledger.engine) as connection:
        (identity,) = foreign_identities(connection, AgentKey(CHAIN_ID, IDENTITY, 1, ()))
    return identity.names_back


def test_claim_is_proven_once_its_agent_names_the_agent_here(ledger, prove):
    before = ledger.server()
    assert (codes(before), shown(ledger)) == ({"also_claimed"}, False)
    assert prove() == ProvenClaims(1, 0, 0)
    after = ledger.server()
    assert (codes(after), shown(ledger)) == ({"also_proven"}, True)
    assert prove() == ProvenClaims(0, 0, 0)  # a day has not passed
    assert ledger.server(files=before.files) == before
    assert ledger.server(files=after.files) == after


def test_agent_that_names_the_agent_here_no_more_is_a_claim_again(ledger, prove, world, owner, there):
    prove()
    proven = ledger.server()
    world.set_field(owner, there, "uri", file_of(there))
    assert prove(days=1) == ProvenClaims(0, 1, 0)
    assert (codes(ledger.server()), shown(ledger)) == ({"also_claimed"}, False)
    assert ledger.server(files=proven.files) == proven


def test_outcome_stays_while_the_node_gives_no_answer(ledger, prove, node):
    prove()

    def refuse(_):
        raise NodeProblem(-32602, "Invalid param")

    node.instead["getMultipleAccounts"] = refuse
    assert prove(days=1) == ProvenClaims(0, 0, 1)
    assert codes(ledger.server()) == {"also_proven"}
    node.instead.clear()
    assert prove(days=1) == ProvenClaims(1, 0, 0)


def test_agent_that_was_sold_proves_nothing(ledger, prove, world, owner, stranger, there):
    world.transfer_agent(there, owner, stranger)
    assert prove() == ProvenClaims(0, 1, 0)
