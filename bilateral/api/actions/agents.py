"""Actions for an agent's owner: register the agent, edit its file, set its wallet, or make it the primary agent."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bilateral.api.actions.base import Action, Address, AgentText, Line, Prose, Signature, Uri
from bilateral.api.file_store import KeptFile
from bilateral.client import Client, Handle
from bilateral.client.operations.agents import RegistrationChanges, changed_file, seconds, wallet_deadline
from bilateral.client.state import RemoteSigner, SignatureNeededError
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.signatures import Domain
from bilateral.documents import RegistrationFile

_PARTS = (2, 3)
"""The number of words in a line that describes a service: name, endpoint and, optionally, version."""

_MOST_SERVICES = 50  # the form shows all of them; larger files are written by hand


class ServiceEntry(BaseModel):
    """An endpoint where the agent can be reached."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100)]
    endpoint: Annotated[Uri, Field(min_length=1)]
    version: Line | None = None


def _services(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    services = []
    for number, line in enumerate(filter(None, map(str.strip, value.splitlines())), 1):
        words = line.split()
        if len(words) not in _PARTS:
            raise ValueError(f"line {number} must be a name, an endpoint and optionally a version, separated by spaces")
        services.append(dict(zip(("name", "endpoint", "version"), words, strict=False)))
    return services


def _words(value: Any) -> Any:
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


Services = Annotated[
    list[ServiceEntry],
    Field(max_length=_MOST_SERVICES, description="The services, as objects or as a string with one service per line."),
    BeforeValidator(_services),
]
Trusts = Annotated[
    list[Line],
    Field(max_length=20, description="The supported trust models, as a list or a comma-separated string."),
    BeforeValidator(_words),
]
_IsActive = Annotated[bool, Field(description="True if the agent is in service.")]
_TakesX402 = Annotated[bool, Field(description="True if the agent accepts payments through x402.")]


class _Keepable(Action):
    """An action with a registration file, which the service can store off chain if the account signs it."""

    keep: Annotated[
        bool,
        Field(description="True to store the file on the service instead of on chain. The account signs it first."),
    ] = False
    deadline: Annotated[int | None, Field(ge=0, lt=2**40, description="The deadline of `signature`.")] = None
    signature: Annotated[Signature | None, Field(description="The account's signature over `KeptFile`.")] = None

    def _stored_uri(self, client: Client, file: RegistrationFile) -> str:
        account, content = str(self.account), file.to_bytes()
        now = int(client.runner.run(wallet_deadline())[0].timestamp())
        until = now if self.deadline is None else self.deadline
        deployment = client.get_deployment()
        message = KeptFile(account, content.decode(), until)  # type: ignore[arg-type]  # it is checksummed
        domain = Domain(deployment.chain_id, deployment.identity)  # type: ignore[arg-type]
        if self.signature is None:
            self.deadline = until
            raise SignatureNeededError(account, message.signable(domain).typed_data)
        if not time.time() <= until <= now:
            raise InvalidArgumentError(f"deadline {until} has passed or is too far ahead: sign the file again")
        if not client.is_valid_signature(account, message.digest(domain), bytes.fromhex(self.signature[2:])):
            raise InvalidArgumentError(f"signature: {account} did not sign this file: sign it again")
        return client.state.store.put(content).uri


def _fields_of(action: BaseModel) -> dict[str, Any]:
    names = {"x402": "x402Support", "trust": "supportedTrust"}
    included = ("name", "description", "image", "services", "x402", "active", "trust")
    values = action.model_dump(include=set(included), exclude_none=True)
    services = [
        {name: text for name, text in service.items() if text is not None} for service in values.pop("services", [])
    ]
    fields = {names.get(name, name): value for name, value in values.items() if value != []}
    return fields | ({"services": services} if services or "services" in action.model_fields_set else {})


class RegisterAgent(_Keepable):
    """Register an agent, with the account as its owner (ERC-8004, `register`)."""

    final: ClassVar[str] = (
        "The registration stays on the chain permanently. You can still change the file or transfer the agent."
    )

    action: Literal["register_agent"]
    chain: Annotated[int, Field(ge=1, lt=2**63, description="The chain.")]
    name: Annotated[Line, Field(description="The agent's name.")] = ""
    description: Annotated[Prose, Field(description="A description of the agent.")] = ""
    image: Annotated[Uri, Field(description="The URI of the agent's picture.")] = ""
    services: Annotated[Services, Field(default_factory=list)]
    x402: _TakesX402 = False
    active: _IsActive = True
    trust: Annotated[Trusts, Field(default_factory=list)]
    uri: Annotated[
        Uri, Field(description="The URI of a registration file hosted elsewhere, instead of the fields.")
    ] = ""

    @property
    def sentence(self) -> str:
        return f"Register the agent {self.name or self.uri}, which your account owns."

    @property
    def file(self) -> RegistrationFile | None:
        """The registration file; None if the agent's URI points to a file hosted elsewhere."""
        described = self.name or self.description or self.image or self.services
        if self.uri and (described or self.keep):
            raise InvalidArgumentError(
                "uri points to an existing file: pass either uri or the fields of a new file (such as name), not both"
            )
        return None if self.uri else RegistrationFile.new(**_fields_of(self))

    def document(self) -> Any:
        file = self.file
        return None if file is None else file.to_object()

    def perform(self, client: Client) -> Handle[Any]:
        file = self.file
        handle = client.register_agent(self.uri, file=file)
        if file is None or not self.keep:
            return handle
        return client.register_agent(self._stored_uri(client, file))  # stores the file only if it would succeed


class _OfAgent(Action):
    """An action by an agent's owner or operator."""

    agent: Annotated[AgentText, Field(description="The agent, such as 8453:247.")]


class EditRegistration(_OfAgent, _Keepable):
    """Change an agent's registration file, embedded in the URI or stored by the service (ERC-8004, `setAgentURI`)."""

    final: ClassVar[str] = "The new file replaces the current one immediately. Earlier URIs remain on the chain."

    action: Literal["edit_registration"]
    name: Annotated[
        Line | None, Field(description="The new name; omit this field, or any other, to leave it unchanged.")
    ] = None
    description: Prose | None = None
    image: Uri | None = None
    services: Services | None = None
    x402: _TakesX402 | None = None
    active: _IsActive | None = None
    trust: Trusts | None = None

    @property
    def sentence(self) -> str:
        return f"Change {', '.join(_fields_of(self)) or 'nothing'} in the registration file of agent {self.agent}."

    def document(self) -> Any:
        return _fields_of(self) or None

    def perform(self, client: Client) -> Handle[Any]:
        handle = client.edit_registration(self.agent, fields=_fields_of(self))
        if not self.keep:
            return handle
        file = client.runner.run(changed_file(client.state, self.agent, RegistrationChanges(_fields_of(self))))
        return client.set_agent_uri(self.agent, self._stored_uri(client, file))  # stored only if this would succeed


class SetAgentWallet(_OfAgent):
    """Set the wallet that receives an agent's payments, with that wallet's consent (ERC-8004, `setAgentWallet`)."""

    final: ClassVar[str] = (
        "From now on, payments to the agent go to this wallet. If you change the wallet later, they stay in this one."
    )

    words: ClassVar[str] = "Make {self.wallet} the wallet of agent {self.agent}."

    action: Literal["set_agent_wallet"]
    wallet: Annotated[Address, Field(description="The new wallet, which signs before the account does.")]
    deadline: Annotated[int | None, Field(ge=0, lt=2**40, description="The deadline of `signature`.")] = None
    signature: Annotated[Signature | None, Field(description="The wallet's signature over `AgentWalletSet`.")] = None

    def perform(self, client: Client) -> Handle[Any]:
        if self.signature is None:
            deadline, _ = client.runner.run(wallet_deadline())
            self.deadline = seconds(deadline)
            signer = RemoteSigner(self.wallet)
            return client.set_agent_wallet(self.agent, self.wallet, new_wallet_signer=signer, deadline=deadline)
        if self.deadline is None:
            raise InvalidArgumentError("deadline is missing: a signature requires the deadline that was signed")
        until = datetime.fromtimestamp(self.deadline, UTC)
        signature = bytes.fromhex(self.signature[2:])
        return client.set_agent_wallet(self.agent, self.wallet, deadline=until, signature=signature)


class SetPrimaryAgent(_OfAgent):
    """Choose the account's primary agent (`setPrimaryAgent`)."""

    final: ClassVar[str] = "From now on, your account rates others as this agent. You can choose another agent later."

    words: ClassVar[str] = "Rate others as agent {self.agent} from now on."

    action: Literal["set_primary_agent"]

    def perform(self, client: Client) -> Handle[Any]:
        return client.set_primary_agent(self.agent)
