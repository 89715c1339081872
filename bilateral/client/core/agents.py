"""Agents: registering, loading, changing, handing on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from bilateral.client.core import chain, documents, signing, transactions
from bilateral.client.core.documents import Unstored
from bilateral.client.results import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    MetadataChanged,
    Registered,
)
from bilateral.codec import ChainText
from bilateral.contracts import Registry
from bilateral.documents import RegistrationFile
from bilateral.errors import InvalidArgumentError, MissingSignerError, UnexpectedAnswerError
from bilateral.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.reverts import ContractRevertError
from bilateral.signatures import AgentWalletSet, Domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_typing import ChecksumAddress

    from bilateral.client.core.chain import Log
    from bilateral.client.core.transactions import Sent
    from bilateral.client.inputs import AgentLike, TransactionSigner
    from bilateral.client.session import Session
    from bilateral.client.steps import Operation

ZERO: Final = "0x" + "00" * 20
WALLET_KEY: Final = "agentWallet"

_WALLET_LIMIT: Final = timedelta(minutes=5)
"""How far the registry allows a deadline to be ahead of the time of the block that the transaction gets into."""

_WALLET_LEEWAY: Final = timedelta(minutes=1)
_WALLET_REASONS: Final = ("expired", "deadline_too_far")


def register(
    session: Session, uri: str, file: RegistrationFile | None, metadata: Mapping[str, bytes | str]
) -> Operation[Sent[Registered]]:
    """See `Client.register_agent`."""
    deployment = yield from chain.connect(session)
    entries = [(key, _bytes(value)) for key, value in metadata.items()]

    def decode(logs: Sequence[Log]) -> Registered:
        event = transactions.the(logs, "Registered")
        kept = tuple(
            (log.fields["metadataKey"], log.fields["metadataValue"])
            for log in logs
            if log.name == "MetadataSet" and log.fields["metadataKey"] != WALLET_KEY
        )
        return Registered(AgentId(event["agentId"], deployment.chain_id), event["owner"], event["agentURI"], kept)

    signature, arguments = _registration(_uri_of(uri, file), entries)
    return (yield from transactions.send(session, Registry.IDENTITY, signature, arguments, decode))


def load(session: Session, agent_id: AgentLike, *, load_file: bool) -> Operation[Agent]:
    """See `Client.load_agent`."""
    deployment = yield from chain.connect(session)
    agent = chain.agent_of(deployment, agent_id)
    token = agent.token_id
    (owner,) = yield from chain.call(session, Registry.IDENTITY, "ownerOf(uint256)", token)
    (uri,) = yield from chain.call(session, Registry.IDENTITY, "tokenURI(uint256)", token)
    (wallet,) = yield from chain.call(session, Registry.IDENTITY, "getAgentWallet(uint256)", token)
    domain = yield from _domain(session, token)
    file, problem = None, None
    if load_file and uri:
        file, problem = yield from documents.load(session, RegistrationFile, uri)
    return Agent(
        id=agent,
        registry=deployment.agent_registry,
        owner=owner,
        wallet=None if wallet == ZERO else wallet,
        uri=uri,
        domain=domain,
        file=file,
        file_problem=problem,
    )


def get_metadata(session: Session, agent_id: AgentLike, key: str) -> Operation[bytes]:
    """See `Client.get_metadata`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    answer = yield from chain.call(session, Registry.IDENTITY, "getMetadata(uint256,string)", agent.token_id, key)
    return bytes(answer[0])


def owner_of(session: Session, agent_id: AgentLike) -> Operation[str]:
    """See `Client.get_agent_owner`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    answer = yield from chain.call(session, Registry.IDENTITY, "ownerOf(uint256)", agent.token_id)
    return str(answer[0])


def is_authorized_or_owner(session: Session, account: str, agent_id: AgentLike) -> Operation[bool]:
    """See `Client.is_authorized_or_owner`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    signature = "isAuthorizedOrOwner(address,uint256)"
    answer = yield from chain.call(session, Registry.IDENTITY, signature, checksummed(account), agent.token_id)
    return bool(answer[0])


def set_uri(
    session: Session, agent_id: AgentLike, uri: str | None, file: RegistrationFile | None
) -> Operation[Sent[AgentUriSet]]:
    """See `Client.set_agent_uri`."""
    if uri is None and file is None:
        raise InvalidArgumentError('give a URI or a file; uri="" erases the URI')
    deployment = yield from chain.connect(session)
    agent = chain.agent_of(deployment, agent_id)
    if file is not None:
        file = _naming(file, GlobalAgentId(deployment.agent_registry, str(agent.token_id)))

    def decode(logs: Sequence[Log]) -> AgentUriSet:
        event = transactions.the(logs, "URIUpdated")
        return AgentUriSet(agent, event["newURI"], event["updatedBy"])

    arguments = (agent.token_id, _uri_of(uri or "", file))
    return (yield from transactions.send(session, Registry.IDENTITY, "setAgentURI(uint256,string)", arguments, decode))


def set_wallet(  # noqa: PLR0913, PLR0917  # the method's own parameters
    session: Session,
    agent_id: AgentLike,
    new_wallet: str,
    new_wallet_signer: TransactionSigner | None,
    deadline: datetime | None,
    signature: bytes | None,
) -> Operation[Sent[AgentWalletChanged]]:
    """See `Client.set_agent_wallet`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    wallet = checksummed(new_wallet)
    advice = ""
    if signature is None:
        if deadline is None:
            deadline, advice = yield from _wallet_deadline()
        signature = yield from _consent(session, agent, wallet, new_wallet_signer, seconds(deadline))
    elif deadline is None or new_wallet_signer is not None:
        raise InvalidArgumentError("a signature that was made elsewhere comes with its deadline, and without a signer")
    arguments = (agent.token_id, wallet, seconds(deadline), signature)
    function = "setAgentWallet(uint256,address,uint256,bytes)"
    try:
        return (yield from transactions.send(session, Registry.IDENTITY, function, arguments, _wallet_decoder(agent)))
    except ContractRevertError as refusal:
        if not advice or refusal.reason not in _WALLET_REASONS:
            raise
        raise ContractRevertError(refusal.error, refusal.arguments, refusal.reason, advice, refusal.data) from None


def unset_wallet(session: Session, agent_id: AgentLike) -> Operation[Sent[AgentWalletChanged]]:
    """See `Client.unset_agent_wallet`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    function, decode = "unsetAgentWallet(uint256)", _wallet_decoder(agent)
    return (yield from transactions.send(session, Registry.IDENTITY, function, (agent.token_id,), decode))


def set_metadata(
    session: Session, agent_id: AgentLike, key: str, value: bytes | str
) -> Operation[Sent[MetadataChanged]]:
    """See `Client.set_metadata`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)

    def decode(logs: Sequence[Log]) -> MetadataChanged:
        event = transactions.the(logs, "MetadataSet")
        return MetadataChanged(agent, event["metadataKey"], event["metadataValue"])

    function, arguments = "setMetadata(uint256,string,bytes)", (agent.token_id, key, _bytes(value))
    return (yield from transactions.send(session, Registry.IDENTITY, function, arguments, decode))


def transfer(session: Session, agent_id: AgentLike, new_owner: str) -> Operation[Sent[AgentTransferred]]:
    """See `Client.transfer_agent`."""
    agent = chain.agent_of((yield from chain.connect(session)), agent_id)
    owner = yield from owner_of(session, agent)

    def decode(logs: Sequence[Log]) -> AgentTransferred:
        event = transactions.the(logs, "Transfer")
        return AgentTransferred(agent, event["from"], event["to"])

    function, arguments = "safeTransferFrom(address,address,uint256)", (owner, checksummed(new_owner), agent.token_id)
    return (yield from transactions.send(session, Registry.IDENTITY, function, arguments, decode))


def seconds(moment: datetime) -> int:
    """A moment in Unix time.

    Raises:
        InvalidArgumentError: It has no time zone, or is before 1970.
    """
    if moment.tzinfo is None:
        raise InvalidArgumentError("a time needs a time zone, such as datetime.now(UTC) has")
    if moment.timestamp() < 0:
        raise InvalidArgumentError("the chain has no time before 1970")
    return int(moment.timestamp())


def _registration(uri: str | Unstored, entries: list[tuple[str, bytes]]) -> tuple[str, tuple[Any, ...]]:
    """The cheapest of the functions that register an agent, and its arguments."""
    if entries:
        return "register(string,(string,bytes)[])", (uri, entries)
    return ("register(string)", (uri,)) if uri else ("register()", ())


def _uri_of(uri: str, file: RegistrationFile | None) -> str | Unstored:
    """The URI that was given, or what stands for that of the file until it is stored."""
    if file is None:
        return uri
    if uri:
        raise InvalidArgumentError("give a URI or a file, not both")
    return Unstored(file.to_bytes())


def _naming(file: RegistrationFile, agent: GlobalAgentId) -> RegistrationFile:
    """A registration file that names the agent among its registrations."""
    if file.registration_of(agent) is not None:
        return file
    entry = {"agentId": int(agent.agent), "agentRegistry": str(agent.registry)}
    fields = file.to_object()
    return RegistrationFile.of({**fields, "registrations": [*(fields.get("registrations") or []), entry]})


def _domain(session: Session, token_id: int) -> Operation[ChainText]:
    """The domain of an agent; empty if it has none, or if the registry has no directory, as the first ones had none."""
    try:
        (entry,) = yield from chain.call(session, Registry.IDENTITY, "getAgent(uint256)", token_id)
    except (ContractRevertError, UnexpectedAnswerError):
        return ChainText(b"")
    domain: ChainText = entry["agentDomain"]
    return domain


def _wallet_deadline() -> Operation[tuple[datetime, str]]:
    """A deadline for the consent of a wallet, and what to do if the registry refuses it.

    The time of the next block is that of the last one or of this machine's clock, whichever is later: there may have
    been no block for long. But a node may simulate in the time of the last one. So the deadline is four minutes from
    the later, and no more than five from the last block, if a minute is left then. Where this clock is further ahead,
    either there was no block for that long or the clock is wrong: the registry says, before anything is sent.
    """
    last, clock = (yield from chain.block_time()), datetime.now(UTC)
    now = max(last, clock)
    deadline = now + _WALLET_LIMIT - _WALLET_LEEWAY
    if last + _WALLET_LIMIT - now >= _WALLET_LEEWAY:
        deadline = min(deadline, last + _WALLET_LIMIT)
    return deadline, (
        f"The chain's last block is of {last.isoformat()}, and this machine's clock says "
        f"{clock.isoformat(timespec='seconds')}. Set the clock, or give a deadline by the chain's time."
    )


def _consent(
    session: Session, agent: AgentId, wallet: str, wallet_signer: TransactionSigner | None, deadline: int
) -> Operation[bytes]:
    """The wallet's signature that it wants to be the agent's."""
    signer = wallet_signer or chain.require_signer(session)
    if checksummed(signer.address) != wallet:
        raise MissingSignerError(f"the wallet {wallet} must sign: give new_wallet_signer=…, or its signature=…")
    deployment = yield from chain.connect(session)
    owner = yield from owner_of(session, agent)
    message = AgentWalletSet(agent.token_id, _typed(wallet), _typed(owner), deadline)
    signable = message.signable(Domain(deployment.chain_id, _typed(deployment.identity)))
    return (yield from signing.message(signer, signable))


def _wallet_decoder(agent: AgentId) -> Any:
    """What makes a change of the wallet of its event."""

    def decode(logs: Sequence[Log]) -> AgentWalletChanged:
        value = transactions.the(logs, "MetadataSet")["metadataValue"]
        return AgentWalletChanged(agent, checksummed("0x" + value.hex()) if value else None)

    return decode


def _bytes(value: bytes | str) -> bytes:
    """A metadata value, of which text is stored as UTF-8."""
    return value.encode() if isinstance(value, str) else bytes(value)


def _typed(address: str) -> ChecksumAddress:
    """An address as eth-typing types it."""
    return address  # type: ignore[return-value]
