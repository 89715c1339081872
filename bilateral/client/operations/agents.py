"""Operations for registering, loading, changing and transferring agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bilateral.client.operations import documents, registries, transactions
from bilateral.client.operations.documents import Unstored
from bilateral.client.results import (
    Agent,
    AgentTransferred,
    AgentUriSet,
    AgentWalletChanged,
    MetadataChanged,
    Registered,
)
from bilateral.client.state import AgentLike, ClientState, Sent, TransactionSigner
from bilateral.core import events as registry_events
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MalformedDocumentError, MissingSignerError
from bilateral.core.events import Event, MetadataSet, Transfer, URIUpdated
from bilateral.core.events.agents import WALLET_KEY
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.identifiers.caip import ZERO_ADDRESS
from bilateral.core.signatures import AgentWalletSet, Domain
from bilateral.core.text import ChainText
from bilateral.documents import RegistrationFile
from bilateral.node.steps import Operation, together

_WALLET_LIMIT: Final = timedelta(minutes=5)
"""The maximum time from the transaction's block to the deadline, as enforced by the registry."""

_WALLET_LEEWAY: Final = timedelta(minutes=1)  # the clocks of nodes and users differ by seconds
_WALLET_REASONS: Final = ("expired", "deadline_too_far")


def register(
    state: ClientState, uri: str, file: RegistrationFile | None, metadata: Mapping[str, bytes | str]
) -> Operation[Sent[Registered]]:
    """See `Client.register_agent`."""
    deployment = yield from registries.connect(state)
    entries = [(key, _bytes(value)) for key, value in metadata.items()]
    owner = registries.require_address(state)

    def decode(events: Sequence[Event]) -> Registered:
        event = transactions.require_event(events, registry_events.Registered, owner=owner)
        metadata_entries = tuple(
            (other.metadata_key, other.metadata_value)
            for other in events
            if isinstance(other, MetadataSet) and other.metadata_key != WALLET_KEY
        )
        return Registered(AgentId(event.agent_id, deployment.chain_id), event.owner, event.agent_uri, metadata_entries)

    location = _uri_of(uri, file)
    arguments: tuple[Any, ...] = (location, entries) if entries else (location,)
    if not location and not entries:
        arguments = ()
    return (yield from transactions.send(state, Registry.IDENTITY, "register", arguments, decode))


def load(state: ClientState, agent_id: AgentLike, *, load_file: bool) -> Operation[Agent]:
    """See `Client.load_agent`."""
    deployment = yield from registries.connect(state)
    agent = registries.agent_of(deployment, agent_id)
    token = agent.token_id
    facts = [
        registries.call(state, Registry.IDENTITY, name, token) for name in ("ownerOf", "tokenURI", "getAgentWallet")
    ]
    (owner,), (uri,), (wallet,), (domain,) = yield from together([*facts, _domain(state, token)])
    file, problem = None, None
    if load_file and uri:
        file, problem = yield from documents.load(state, RegistrationFile, uri)
    return Agent(
        id=agent,
        registry=deployment.agent_registry,
        owner=owner,
        wallet=None if wallet == ZERO_ADDRESS else wallet,
        uri=uri,
        domain=domain,
        file=file,
        file_problem=problem,
    )


def get_metadata(state: ClientState, agent_id: AgentLike, key: str) -> Operation[bytes]:
    """See `Client.get_metadata`."""
    return bytes((yield from _read(state, "getMetadata", agent_id, key)))


def owner_of(state: ClientState, agent_id: AgentLike) -> Operation[str]:
    """See `Client.get_agent_owner`."""
    return str((yield from _read(state, "ownerOf", agent_id)))


def _read(state: ClientState, function: str, agent_id: AgentLike, *arguments: Any) -> Operation[Any]:
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    (value,) = yield from registries.call(state, Registry.IDENTITY, function, agent.token_id, *arguments)
    return value


def is_authorized_or_owner(state: ClientState, account: str, agent_id: AgentLike) -> Operation[bool]:
    """See `Client.is_authorized_or_owner`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    signature = "isAuthorizedOrOwner"
    answer = yield from registries.call(state, Registry.IDENTITY, signature, checksummed(account), agent.token_id)
    return bool(answer[0])


def set_uri(
    state: ClientState, agent_id: AgentLike, uri: str | None, file: RegistrationFile | None
) -> Operation[Sent[AgentUriSet]]:
    """See `Client.set_agent_uri`."""
    if uri is None and file is None:
        raise InvalidArgumentError('pass a URI or a file; uri="" removes the URI')
    deployment = yield from registries.connect(state)
    agent = registries.agent_of(deployment, agent_id)
    if file is not None:
        file = naming(file, GlobalAgentId(deployment.agent_registry, str(agent.token_id)))

    def decode(events: Sequence[Event]) -> AgentUriSet:
        event = transactions.require_event(events, URIUpdated, agent_id=agent.token_id)
        return AgentUriSet(agent, event.new_uri, event.updated_by)

    arguments = (agent.token_id, _uri_of(uri or "", file))
    return (yield from transactions.send(state, Registry.IDENTITY, "setAgentURI", arguments, decode))


def set_wallet(  # noqa: PLR0913, PLR0917  # the method's own parameters
    state: ClientState,
    agent_id: AgentLike,
    new_wallet: str,
    new_wallet_signer: TransactionSigner | None,
    deadline: datetime | None,
    signature: bytes | None,
) -> Operation[Sent[AgentWalletChanged]]:
    """See `Client.set_agent_wallet`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    wallet = checksummed(new_wallet)
    advice = ""
    if signature is None:
        if deadline is None:
            deadline, advice = yield from wallet_deadline()
        signature = yield from _consent(state, agent, wallet, new_wallet_signer, seconds(deadline))
    elif deadline is None or new_wallet_signer is not None:
        raise InvalidArgumentError("a signature made in advance requires its deadline and cannot be used with a signer")
    arguments = (agent.token_id, wallet, seconds(deadline), signature)
    function = "setAgentWallet"
    try:
        return (yield from transactions.send(state, Registry.IDENTITY, function, arguments, _wallet_decoder(agent)))
    except ContractRevertError as refusal:
        if not advice or refusal.reason not in _WALLET_REASONS:
            raise
        raise ContractRevertError(refusal.error, refusal.arguments, refusal.reason, advice, refusal.data) from None


def unset_wallet(state: ClientState, agent_id: AgentLike) -> Operation[Sent[AgentWalletChanged]]:
    """See `Client.unset_agent_wallet`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    function, decode = "unsetAgentWallet", _wallet_decoder(agent)
    return (yield from transactions.send(state, Registry.IDENTITY, function, (agent.token_id,), decode))


def set_metadata(
    state: ClientState, agent_id: AgentLike, key: str, value: bytes | str
) -> Operation[Sent[MetadataChanged]]:
    """See `Client.set_metadata`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)

    def decode(events: Sequence[Event]) -> MetadataChanged:
        event = transactions.require_event(events, MetadataSet, agent_id=agent.token_id, metadata_key=key)
        return MetadataChanged(agent, event.metadata_key, event.metadata_value)

    function, arguments = "setMetadata", (agent.token_id, key, _bytes(value))
    return (yield from transactions.send(state, Registry.IDENTITY, function, arguments, decode))


def transfer(state: ClientState, agent_id: AgentLike, new_owner: str) -> Operation[Sent[AgentTransferred]]:
    """See `Client.transfer_agent`."""
    agent = registries.agent_of((yield from registries.connect(state)), agent_id)
    owner = yield from owner_of(state, agent)

    def decode(events: Sequence[Event]) -> AgentTransferred:
        event = transactions.require_event(events, Transfer, agent_id=agent.token_id)
        return AgentTransferred(agent, event.from_address, event.to_address)

    function, arguments = "safeTransferFrom", (owner, checksummed(new_owner), agent.token_id)
    return (yield from transactions.send(state, Registry.IDENTITY, function, arguments, decode))


def seconds(time: datetime) -> int:
    """Convert a time with a time zone to Unix seconds."""
    if time.tzinfo is None:
        raise InvalidArgumentError("the time has no time zone: use a value such as datetime.now(UTC)")
    if time.timestamp() < 0:
        raise InvalidArgumentError("the time is before 1970")
    return int(time.timestamp())


def _uri_of(uri: str, file: RegistrationFile | None) -> str | Unstored:
    """Return the `uri` argument, or a placeholder for the URI of a file that is not stored yet."""
    if file is None:
        return uri
    if uri:
        raise InvalidArgumentError("pass either a URI or a file, not both")
    if file.faults:  # it was read from an untrusted source, such as the agent's previous file
        raise MalformedDocumentError("; ".join(file.faults))
    return Unstored(file.to_bytes())


def naming(file: RegistrationFile, agent: GlobalAgentId) -> RegistrationFile:
    """Return a registration file, with the agent added to the file's registrations unless already listed."""
    if file.registration_of(agent) is not None:
        return file
    entry = {"agentId": int(agent.agent), "agentRegistry": str(agent.registry)}
    fields = file.to_object()
    return RegistrationFile.of({**fields, "registrations": [*(fields.get("registrations") or []), entry]})


def _domain(state: ClientState, token_id: int) -> Operation[tuple[Any, ...]]:
    """Read an agent's domain. The result is empty if the agent has no domain, or if the registry has no directory."""
    try:
        (entry,) = yield from registries.call(state, Registry.IDENTITY, "getAgent", token_id)
    except registries.NO_FUNCTION:
        return (ChainText(b""),)
    return (entry["agentDomain"],)


def wallet_deadline() -> Operation[tuple[datetime, str]]:
    """Return a deadline for a wallet's consent, and the advice to give if the registry rejects the deadline.

    The next block's time is assumed to be the last block's time or this machine's clock, whichever is later, because
    there may not have been a block for a while. However, a node may simulate the transaction as of the last block's
    time. The deadline is therefore four minutes after the later of the two times, but at most five minutes after the
    last block if that leaves at least a minute. If this machine's clock is more than four minutes ahead of the last
    block (because there was no block for that long, or the clock is wrong), such a simulation fails, and nothing is
    sent.
    """
    last, clock = (yield from registries.block_time()), datetime.now(UTC)
    now = max(last, clock)
    deadline = now + _WALLET_LIMIT - _WALLET_LEEWAY
    if last + _WALLET_LIMIT - now >= _WALLET_LEEWAY:
        deadline = min(deadline, last + _WALLET_LIMIT)
    return deadline, (
        f"The chain's last block is from {last.isoformat()}, but this machine's clock says "
        f"{clock.isoformat(timespec='seconds')}. Set the clock, or pass a deadline based on the chain's time."
    )


def _consent(
    state: ClientState, agent: AgentId, wallet: str, wallet_signer: TransactionSigner | None, deadline: int
) -> Operation[bytes]:
    signer = wallet_signer or registries.require_signer(state)
    if checksummed(signer.address) != wallet:
        raise MissingSignerError(f"the wallet {wallet} must sign: pass new_wallet_signer=… or its signature=…")
    deployment = yield from registries.connect_to_sign(state)
    owner = yield from owner_of(state, agent)
    message = AgentWalletSet(agent.token_id, wallet, owner, deadline)  # type: ignore[arg-type]  # checksummed
    domain = Domain(deployment.chain_id, deployment.identity)  # type: ignore[arg-type]  # it is checksummed
    return (yield from registries.sign_message(signer, message.signable(domain)))


def _wallet_decoder(agent: AgentId) -> Any:

    def decode(events: Sequence[Event]) -> AgentWalletChanged:
        wallet = {"agent_id": agent.token_id, "metadata_key": WALLET_KEY}
        value = transactions.require_event(events, MetadataSet, **wallet).metadata_value
        return AgentWalletChanged(agent, checksummed("0x" + value.hex()) if value else None)

    return decode


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@dataclass(frozen=True)
class RegistrationChanges:
    """Changes to a registration file.

    Attributes:
        fields: The new values, keyed by the fields' JSON names.
        add_services: Services to add, as JSON objects. They replace any services with the same names.
        remove_services: The names of services to remove.
    """

    fields: Mapping[str, Any]
    add_services: Sequence[Mapping[str, Any]] = ()
    remove_services: Sequence[str] = ()

    def apply_to(self, file: RegistrationFile) -> RegistrationFile:
        """Return a file with these changes. All other fields, including unknown ones, stay unchanged."""
        before = file.to_object()
        after = before | dict(self.fields)
        if self.add_services or self.remove_services:
            if replaced := {"services", "endpoints"} & set(self.fields):
                raise InvalidArgumentError(f"pass either all {replaced.pop()}, or services to add and remove, not both")
            key = "services" if "services" in before or "endpoints" not in before else "endpoints"
            services = before.get(key) or []
            if not isinstance(services, list) or not all(isinstance(service, dict) for service in services):
                raise MalformedDocumentError(f"{key} in the current file is not a list of objects: pass all {key}")
            after = after | {key: self._changed_services(services)}
        if after == before:
            raise InvalidArgumentError("the update changes nothing in the registration file: pass a new value")
        changed = RegistrationFile.written(after)
        if problems := [problem for problem in changed.problems() if problem not in file.problems()]:
            raise MalformedDocumentError("; ".join(problems))
        return changed

    def _changed_services(self, services: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the services after the changes, with new services last."""
        names = {service.get("name") for service in services}
        if unknown := [name for name in self.remove_services if name not in names]:
            raise InvalidArgumentError(f"the registration file has no service {unknown[0]!r} to remove")
        added = [dict(service) for service in self.add_services]
        replaced = {*self.remove_services, *(service.get("name") for service in added)}
        return [*(service for service in services if service.get("name") not in replaced), *added]


def changed_file(state: ClientState, agent_id: AgentLike, changes: RegistrationChanges) -> Operation[RegistrationFile]:
    """Load an agent's registration file, and return it with the changes applied."""
    deployment = yield from registries.connect(state)
    agent = registries.agent_of(deployment, agent_id)
    (uri,) = yield from registries.call(state, Registry.IDENTITY, "tokenURI", agent.token_id)
    if not uri:
        raise InvalidArgumentError(f"agent {agent} has no registration file: set one with `set_agent_uri(file=…)`")
    file, problem = yield from documents.load(state, RegistrationFile, uri)
    if problem is not None:
        raise problem
    changed = changes.apply_to(file)  # type: ignore[arg-type]  # it is loaded
    return naming(changed, GlobalAgentId(deployment.agent_registry, str(agent.token_id)))


def edit(state: ClientState, agent_id: AgentLike, changes: RegistrationChanges) -> Operation[Sent[AgentUriSet]]:
    """See `Client.edit_registration`."""
    file = yield from changed_file(state, agent_id, changes)
    return (yield from set_uri(state, agent_id, None, file))
