"""Prove claims that an EVM agent is also an agent on Solana: the Solana agent's file must list the EVM agent too.

The index does not read Solana. `bilateral index prove-claims` queries nodes from time to time. Each changed outcome
(proven or merely claimed) is stored with a new observation of the claiming file, so that answers about earlier blocks
can be reproduced.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, and_, func, insert, select, update

from bilateral.core.errors import BilateralError, DocumentError, MalformedNodeAnswerError
from bilateral.core.errors.solana import AgentRefusedError, MalformedAccountError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.identifiers.caip import ChainId
from bilateral.documents import Loader
from bilateral.index.files import tables as schema
from bilateral.index.files.queries import foreign_agent
from bilateral.index.files.tables import State, agent_file
from bilateral.index.log.database import snapshot
from bilateral.index.log.dialects import hold_cursor, number_observations
from bilateral.index.log.tables import chain
from bilateral.node.running import StepRunner
from bilateral.node.steps import Rpc
from bilateral.node.transport import Transport
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.registries import agent_registries

SECONDS: Final = 86_400
"""How many seconds an outcome counts as fresh: a day, because files seldom change and anyone can make claims."""

_REFERENCE: Final = 32  # characters of the genesis hash in a CAIP-30 id
_MOST_PROBLEM: Final = 300  # characters of an error that the index stores
_REQUEST_SECONDS: Final = 30.0  # the default timeout of a `Client` request


@dataclass(frozen=True)
class ProvenClaims:
    """The number of claims with each outcome in one run.

    Attributes:
        proven: The number of claims whose agent on Solana lists the claiming agent.
        claimed: The number of claims whose agent on Solana does not list the claiming agent, or does not exist.
        unanswered: The number of claims for which no node responded. Their previous outcomes remain stored.
    """

    proven: int
    claimed: int
    unanswered: int


@dataclass(frozen=True)
class _Claim:
    """A claim in an agent's current registration file, together with the file."""

    here: GlobalAgentId
    there: GlobalAgentId
    file_id: bytes


def prove_claims(
    engine: Engine,
    loader: Loader,
    nodes: Sequence[str],
    *,
    now: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> ProvenClaims:
    """Check all claims to be an agent on one of the nodes' chains, except claims checked in the last day."""
    at = int(time.time()) if now is None else now
    outcomes: Counter[bool | None] = Counter()
    for url in nodes:
        with closing(Transport(url, _REQUEST_SECONDS)) as transport:
            run = StepRunner(transport).run
            for claim in list(_due(engine, ChainId("solana", _genesis(run)[:_REFERENCE]), at - SECONDS)):
                names_back, problem = _outcome(run, loader, claim)
                outcomes[names_back] += 1
                if names_back is not None:
                    _store(engine, claim, {"names_back": names_back, "problem": problem}, at)
                progress(f"{claim.here}, {claim.there}: {'proven' if names_back else problem}")
    return ProvenClaims(outcomes[True], outcomes[False], outcomes[None])


def _genesis(run: Callable[[Any], Any]) -> str:
    def ask() -> Any:
        return (yield Rpc("getGenesisHash"))

    genesis = run(ask())
    if not isinstance(genesis, str):
        raise MalformedNodeAnswerError("the node did not return the genesis hash of its chain")
    return genesis


def _due(engine: Engine, network: ChainId, before: int) -> Iterator[_Claim]:
    claim, file, current, proof = schema.registration_claim, schema.file, agent_file, schema.foreign_proof
    query = (
        select(current.c.chain_id, current.c.identity_registry, current.c.agent_id, file.c.file_id)
        .add_columns(claim.c.agent_registry, claim.c.agent_id.label("number"))
        .distinct()
        .select_from(claim)
        .join(file, and_(file.c.content_hash == claim.c.content_hash, file.c.state == State.LOADED.value))
        .join(current, current.c.file_id == file.c.file_id)
        # A range lets both databases use their index.
        .where(claim.c.agent_registry > f"{network}:", claim.c.agent_registry < f"{network};")
        .where(claim.c.agent_id.is_not(None))
    )
    checked = select(proof.c.chain_id, proof.c.identity_registry, proof.c.agent_id, schema.FOREIGN_AGENT).where(
        proof.c.checked_at > before
    )
    with snapshot(engine) as connection:
        rows, fresh = connection.execute(query).all(), set(connection.execute(checked).all())
    for row in rows:
        there = foreign_agent(row.agent_registry, int(row.number))
        place = row.chain_id, row.identity_registry, row.agent_id
        if there is not None and (*place, str(there)) not in fresh:
            registry = AccountId.parse(f"eip155:{row.chain_id}:{row.identity_registry}")
            yield _Claim(GlobalAgentId(registry, str(row.agent_id)), there, bytes(row.file_id))


def _outcome(run: Callable[[Any], Any], loader: Loader, claim: _Claim) -> tuple[bool | None, str]:
    """Return whether the Solana agent lists the claiming agent, and any problem; None if the node did not respond."""
    network, program = claim.there.registry.chain, claim.there.registry.address
    reader = agent_registries(network).get(program)
    if reader is None:
        return False, "the registry is not in the address book"
    try:
        uri = run(reader(SolanaNode(network), claim.there.agent)).uri
    except (AgentRefusedError, MalformedAccountError) as refusal:
        return False, str(refusal)[:_MOST_PROBLEM]
    except BilateralError:
        return None, "unanswered"
    try:
        file = loader.load(uri).registration()
    except DocumentError as problem:
        return False, f"its file cannot be read ({type(problem).__name__})"
    if file.registration_of(claim.here) is None:
        return False, "its file does not list this agent"
    return True, ""


def _store(engine: Engine, claim: _Claim, outcome: Mapping[str, Any], now: int) -> None:
    """Store a changed outcome with a new observation of the file, or else only the time of the check."""
    proof, registry = schema.foreign_proof, claim.here.registry
    place = {
        "chain_id": registry.chain.evm_chain_id,
        "identity_registry": registry.address,
        "agent_id": int(claim.here.agent),
        "solana_agent": str(claim.there),
    }
    newest = select(proof.c.sight_id, proof.c.names_back, proof.c.problem).filter_by(**place)
    with engine.begin() as connection:
        stored = connection.execute(newest.order_by(proof.c.sight_id.desc()).limit(1)).mappings().one_or_none()
        if stored is not None and {name: stored[name] for name in outcome} == outcome:
            same = proof.c.sight_id == stored["sight_id"]
            connection.execute(update(proof).where(same).values(checked_at=now))
            return
        observation = _observe_again(connection, claim.file_id, place["chain_id"])
        if observation is not None:
            connection.execute(insert(proof).values(**place, **outcome, sight_id=observation, checked_at=now))


def _observe_again(connection: Connection, file_id: bytes, chain_id: Any) -> int | None:
    """Store a file's last observation again at the last indexed block. Return None if there was none."""
    table = schema.file_sight
    number_observations(connection)
    hold_cursor(connection, chain_id)
    is_of_file = (table.c.file_id == file_id) & (table.c.chain_id == chain_id)
    last = select(func.max(table.c.sight_id)).where(is_of_file).scalar_subquery()
    columns = ("chain_id", "file_id", "state", "content_hash", "integrity", "reason")
    rows = connection.execute(
        select(*(table.c[name] for name in columns), chain.c.block_number.label("seen_block"))
        .join(chain, chain.c.chain_id == table.c.chain_id)
        .where(table.c.sight_id == last)
    )
    again = rows.mappings().one_or_none()
    if again is None:
        return None
    number: int = connection.execute(insert(table).values(**again).returning(table.c.sight_id)).scalar_one()
    return number
