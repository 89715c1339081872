"""Prove claims to be an agent on Solana: the file of the agent there must name the agent here.

The index reads no chain of Solana. `bilateral index prove-claims` asks nodes now and then, and stores each outcome
that changed beside a sight of the file that claims. So an answer about an earlier block can be given again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, and_, func, insert, select, update

from bilateral.core.errors import BilateralError, DocumentError, MalformedNodeAnswerError
from bilateral.core.errors.solana import AgentRefusedError, MalformedAccountError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.identifiers.caip import ChainId
from bilateral.documents import Loader
from bilateral.index.files import tables as schema
from bilateral.index.files.queries import solana_agent
from bilateral.index.files.tables import State, agent_file
from bilateral.index.log.database import snapshot
from bilateral.index.log.locks import hold_cursor, number_sights
from bilateral.index.log.tables import chain
from bilateral.node.running import StepRunner
from bilateral.node.steps import Rpc
from bilateral.node.transport import Transport
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.registries import agent_registries

SECONDS: Final = 86_400
"""The seconds for which an outcome counts as new: an agent's file changes seldom, and strangers make the claims."""

_REFERENCE: Final = 32  # characters of the genesis hash that CAIP-30 keeps
_MOST_PROBLEM: Final = 300  # characters of a refusal that the index keeps
_REQUEST_SECONDS: Final = 30.0  # as long as a request of `Client` may take


@dataclass(frozen=True)
class ProvenClaims:
    """The outcomes of one run.

    Attributes:
        proven: The claims whose agent on Solana names the agent here.
        claimed: Those whose agent does not, or is not an agent.
        unanswered: Those about which a node gave no answer. Their former outcome stays.
    """

    proven: int
    claimed: int
    unanswered: int


@dataclass(frozen=True)
class _Claim:
    """A claim of an agent's current file, and the file."""

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
    """Prove all claims to be an agent on the nodes' chains that were not looked at for a day."""
    at = int(time.time()) if now is None else now
    counts = {True: 0, False: 0, None: 0}
    for url in nodes:
        transport = Transport(url, _REQUEST_SECONDS)
        try:
            run = StepRunner(transport).run
            network = ChainId("solana", _genesis(run)[:_REFERENCE])
            for claim in list(_due(engine, network, at - SECONDS)):
                outcome = _outcome(run, loader, claim)
                counts[outcome and outcome[0]] += 1
                if outcome is not None:
                    _note(engine, claim, *outcome, at)
                told = "unanswered" if outcome is None else "proven" if outcome[0] else outcome[1]
                progress(f"{claim.here}, {claim.there}: {told}")
        finally:
            transport.close()
    return ProvenClaims(counts[True], counts[False], counts[None])


def _genesis(run: Callable[[Any], Any]) -> str:
    """Ask a node for the hash of its chain's first block."""

    def ask() -> Any:
        return (yield Rpc("getGenesisHash"))

    genesis = run(ask())
    if not isinstance(genesis, str):
        raise MalformedNodeAnswerError("the node does not say the genesis hash of its chain")
    return genesis


def _due(engine: Engine, network: ChainId, before: int) -> Iterator[_Claim]:
    """Yield the claims to be an agent on a chain that were not looked at since a time."""
    claim, file, current, proof = schema.registration_claim, schema.file, agent_file, schema.solana_proof
    query = (
        select(current.c.chain_id, current.c.identity_registry, current.c.agent_id, file.c.file_id)
        .add_columns(claim.c.agent_registry, claim.c.agent_id.label("number"))
        .distinct()
        .select_from(claim)
        .join(file, and_(file.c.content_hash == claim.c.content_hash, file.c.state == State.LOADED.value))
        .join(current, current.c.file_id == file.c.file_id)
        # A range, for which both engines use the index.
        .where(claim.c.agent_registry > f"{network}:", claim.c.agent_registry < f"{network};")
        .where(claim.c.agent_id.is_not(None))
    )
    checked = select(proof.c.chain_id, proof.c.identity_registry, proof.c.agent_id, proof.c.solana_agent).where(
        proof.c.checked_at > before
    )
    with snapshot(engine) as connection:
        rows, fresh = connection.execute(query).all(), set(connection.execute(checked).all())
    for row in rows:
        there = solana_agent(row.agent_registry, int(row.number))
        place = row.chain_id, row.identity_registry, row.agent_id
        if there is not None and (*place, str(there)) not in fresh:
            registry = AccountId.parse(f"eip155:{row.chain_id}:{row.identity_registry}")
            yield _Claim(GlobalAgentId(registry, str(row.agent_id)), there, bytes(row.file_id))


def _outcome(run: Callable[[Any], Any], loader: Loader, claim: _Claim) -> tuple[bool, str] | None:
    """Return whether the agent on Solana names the agent here, and the problem; None without an answer of the node."""
    network, program = claim.there.registry.chain, claim.there.registry.address
    reader = agent_registries(network).get(program)
    if reader is None:
        return False, "its registry is not in the address book"
    try:
        uri = run(reader(SolanaNode(network), claim.there.agent)).uri
    except (AgentRefusedError, MalformedAccountError) as refusal:
        return False, str(refusal)[:_MOST_PROBLEM]
    except BilateralError:
        return None
    try:
        file = loader.load(uri).registration()
    except DocumentError as problem:
        return False, f"its file cannot be read ({type(problem).__name__})"
    if file.registration_of(claim.here) is None:
        return False, "its file does not name this agent"
    return True, ""


def _note(engine: Engine, claim: _Claim, names_back: bool, problem: str, now: int) -> None:  # an outcome
    """Store an outcome: with a new sight of the file if it changed, and as looked at again if not."""
    proof, registry = schema.solana_proof, claim.here.registry
    place = {
        "chain_id": registry.chain.evm_chain_id,
        "identity_registry": registry.address,
        "agent_id": int(claim.here.agent),
        "solana_agent": str(claim.there),
    }
    newest = select(proof.c.sight_id, proof.c.names_back, proof.c.problem).filter_by(**place)
    with engine.begin() as connection:
        known = connection.execute(newest.order_by(proof.c.sight_id.desc()).limit(1)).one_or_none()
        if known is not None and (known.names_back, known.problem) == (names_back, problem):
            same = proof.c.sight_id == known.sight_id
            connection.execute(update(proof).where(same).values(checked_at=now))
            return
        sight_id = _seen_again(connection, claim.file_id, place["chain_id"])
        if sight_id is not None:
            row = {**place, "sight_id": sight_id, "names_back": names_back, "problem": problem, "checked_at": now}
            connection.execute(insert(proof).values(row))


def _seen_again(connection: Connection, file_id: bytes, chain_id: Any) -> int | None:
    """Note a file once more as it was last seen, at the last indexed block. Return the number of the sight."""
    seen = schema.file_sight
    number_sights(connection)
    hold_cursor(connection, chain_id)
    is_of_file = (seen.c.file_id == file_id) & (seen.c.chain_id == chain_id)
    last = select(func.max(seen.c.sight_id)).where(is_of_file).scalar_subquery()
    columns = ("chain_id", "file_id", "state", "content_hash", "integrity", "reason")
    rows = connection.execute(
        select(*(seen.c[name] for name in columns), chain.c.block_number.label("seen_block"))
        .join(chain, chain.c.chain_id == seen.c.chain_id)
        .where(seen.c.sight_id == last)
    )
    again = rows.mappings().one_or_none()
    if again is None:  # the index has not seen the file yet
        return None
    number: int = connection.execute(insert(seen).values(**again).returning(seen.c.sight_id)).scalar_one()
    return number
