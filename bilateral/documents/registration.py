"""The registration file: an agent's description of itself (ERC-8004, and `signers` from the x402 extension).

Incomplete and malformed files can be read: `problems` lists the values that were dropped and the fields that ERC-8004
requires but are missing. `RegistrationFile.new`, which creates files, does not accept such problems. The fields
`signers` and `registrations` are read strictly, because they determine whose signatures are accepted and to which agent
the file belongs: a single malformed entry makes the file unreadable.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from bilateral.core.errors import MalformedDocumentError, MalformedIdentifierError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.identifiers.caip import FOREIGN_PREFIXES
from bilateral.core.text import quoted
from bilateral.documents.model import MAX_ITEMS, DocumentModel, as_list

REGISTRATION_TYPE: Final = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"

_OTHER_NAMES: Final = {"x402Support": "x402support", "supportedTrust": "supportedTrusts"}
"""Alternative field names that published SDKs use, by current name."""

_OTHER_SERVICE_NAMES: Final = {"name": ("type", "protocol", "kind"), "endpoint": ("url", "uri", "value", "href")}
"""Alternative names that files use for the fields of a service."""

_ED25519_BYTES: Final = 32  # of a public key (RFC 8032, section 5.1.5)
_SECP256K1_FORMS: Final = ((b"\x02", 33), (b"\x03", 33), (b"\x04", 65))  # SEC 1: the prefix, the length with it


class Service(DocumentModel):
    """A way to reach the agent. The name may be `MCP`, `A2A`, `OASF`, `ENS`, `DID`, `web`, or any other.

    Attributes:
        name: The kind of service.
        endpoint: The URI or name of the service.
        version: The protocol version of the service.
    """

    name: str
    endpoint: str | None = None
    version: str | None = None


class Registration(DocumentModel):
    """The agent's entry in one registry.

    Attributes:
        agent_registry: The identity registry, as a CAIP-10 account id.
        agent_id: The token id on EVM chains, or an address on other chains; None before the agent has an id.
    """

    agent_registry: str
    agent_id: int | str | None = None

    def is_agent(self, agent: GlobalAgentId) -> bool:
        """Return True if this entry is for a given agent, ignoring the case of EVM addresses.

        Some tools for registries on non-EVM chains prefix the agent's address with the chain. Both forms are accepted.
        """
        return self.agent == agent

    @property
    def agent(self) -> GlobalAgentId | None:
        """The agent in this entry; None if the entry is malformed, or the agent has no id yet."""
        try:
            registry = AccountId.parse(self.agent_registry, verify_checksum=False)
            prefix = "" if registry.chain.is_evm else f"{registry.chain}:"
            return GlobalAgentId(registry, str(self.agent_id).removeprefix(prefix))
        except MalformedIdentifierError:
            return None


class Signer(DocumentModel):
    """A key that signs the agent's paid responses (x402 extension, "Signer Fields").

    Attributes:
        public_key: The key in hexadecimal digits, without 0x: for ed25519, 32 bytes; for secp256k1, 33 bytes that begin
            with 02 or 03, or 65 bytes that begin with 04.
        algorithm: The signature scheme.
        role: The role of the key's holder: owner or delegate. New files must include it, although it cannot be
            verified.
        valid_from: The first second at which the key is valid, in Unix time.
        valid_until: The first second at which the key is no longer valid; None if the key does not expire.
        comment: A note for human readers.
    """

    public_key: str
    algorithm: Literal["ed25519", "secp256k1"]
    role: Literal["owner", "delegate"] | None = None
    valid_from: Annotated[int, Field(ge=0)]
    valid_until: Annotated[int, Field(ge=0)] | None
    comment: str | None = None

    @field_validator("public_key")
    @classmethod
    def _is_hexadecimal(cls, public_key: str) -> str:
        """Reject anything but hexadecimal digits: `bytes.fromhex` alone would also accept spaces."""
        if len(public_key) % 2 or not set(public_key) <= set("0123456789abcdefABCDEF"):
            raise ValueError("expected hexadecimal digits in pairs, without 0x")
        return public_key

    @model_validator(mode="after")
    def _is_key(self) -> Self:
        """Reject a key whose format does not match its algorithm. Keys off the curve pass, but match no signature."""
        form = self.key[:1], len(self.key)
        if self.algorithm == "ed25519" and form[1] != _ED25519_BYTES:
            raise ValueError(f"an ed25519 key must have {_ED25519_BYTES} bytes, not {form[1]}")
        if self.algorithm == "secp256k1" and form not in _SECP256K1_FORMS:
            raise ValueError(
                "a secp256k1 key must have 33 bytes that begin with 02 or 03, or 65 bytes that begin with 04"
            )
        return self

    @property
    def key(self) -> bytes:
        """The public key."""
        return bytes.fromhex(self.public_key)

    def counts_at(self, time: datetime) -> bool:
        """Return True if the key is valid at a given time: at or after `valid_from`, and before `valid_until`."""
        second = time.timestamp()
        return self.valid_from <= second and (self.valid_until is None or second < self.valid_until)


class RegistrationFile(DocumentModel):
    """An agent's registration file.

    Attributes:
        type: The format, `REGISTRATION_TYPE`.
        name: The agent's name.
        description: A description of the agent.
        image: The URI of the agent's picture.
        endpoints: The services, in the field's former name (October 2025). `all_services` reads both fields.
        x402_support: True if the agent accepts x402 payments.
        active: True if the agent is operational.
        registrations: The agent's entries in registries.
        supported_trust: The trust models that the agent supports, such as `reputation`.
        signers: The keys that sign the agent's paid responses.
    """

    STRICT = frozenset({"registrations", "signers"})

    type: str | None = None
    name: str | None = None
    description: str | None = None
    image: str | None = None
    services: list[Service] | None = None
    endpoints: list[Service] | None = None
    x402_support: bool | None = None
    active: bool | None = None
    registrations: list[Registration] | None = None
    supported_trust: list[str] | None = None
    signers: list[Signer] | None = None

    @classmethod
    def new(
        cls, name: str, description: str, image: str, *, services: Sequence[Mapping[str, Any]] = (), **fields: Any
    ) -> Self:
        """Create a registration file.

        Args:
            name: The agent's name.
            description: A description of the agent.
            image: The URI of the agent's picture.
            services: The agent's services, as JSON objects with `name` and `endpoint`.
            **fields: Any other fields, keyed by JSON name: `x402Support`, `signers`, …

        Raises:
            MalformedDocumentError: A field has the wrong type, is passed by its Python name (`x402_support`), or is
                required by ERC-8004 but missing.
        """
        described = {"type": REGISTRATION_TYPE, "name": name, "description": description, "image": image}
        file = cls.written({**described, "services": as_list(services or ()), **fields})
        if problems := file.problems():
            raise MalformedDocumentError("; ".join(problems))
        file.to_bytes()
        return file

    @classmethod
    def _in_present_form(cls, source: dict[str, Any], faults: list[str]) -> dict[str, Any]:
        value = dict(source)
        for name, other in _OTHER_NAMES.items():
            if value.get(name) is None and value.get(other) is not None:
                value[name] = value[other]
        payments = value.get("x402Support")
        if isinstance(payments, dict) and isinstance(payments.get("enabled"), bool):  # as agent0's subgraph accepts
            value["x402Support"] = payments["enabled"]
        for field in ("services", "endpoints"):
            if isinstance(value.get(field), list):
                value[field] = [
                    _present_service(entry, f"{field}.{at}", faults) if at < MAX_ITEMS else entry
                    for at, entry in enumerate(value[field])
                ]
        return value

    @property
    def all_services(self) -> list[Service]:
        """The services, from the field `services` or, in files from October 2025, `endpoints`."""
        return self.services if self.services is not None else self.endpoints or []

    def problems(self) -> list[str]:
        """Return a sentence for each way in which the file violates ERC-8004; an empty list if there are none."""
        problems = list(self.faults)
        if self.type != REGISTRATION_TYPE:
            problems.append(f"type is not {REGISTRATION_TYPE}")
        problems += [f"{field} is missing" for field in ("name", "description", "image") if not getattr(self, field)]
        without = (service.name for service in self.all_services if service.name and not service.endpoint)
        problems += [f"service {quoted(name)} has no endpoint" for name in without]
        for registration in self.registrations or []:
            try:
                AccountId.parse(registration.agent_registry)
            except MalformedIdentifierError as error:
                problems.append(str(error))
            if str(registration.agent_id).startswith(FOREIGN_PREFIXES):
                problems.append(f"agentId {quoted(str(registration.agent_id))} is not just the mint address")
            if registration.model_extra:
                problems.append("a registration has fields other than agentId and agentRegistry")
        problems += [
            f"signer {number} has no role" for number, signer in enumerate(self.signers or []) if signer.role is None
        ]
        return problems

    def registration_of(self, agent: GlobalAgentId) -> Registration | None:
        """Return the entry in `registrations` that confirms that the file is for this agent; None if it is missing."""
        return next((entry for entry in self.registrations or [] if entry.is_agent(agent)), None)

    def registered_agents(self) -> tuple[GlobalAgentId, ...]:
        """Return the agents that `registrations` lists, on any chain, ignoring malformed entries.

        An agent with several registrations lists all of them. Two agents are proven to be the same only if each agent's
        file also lists the other agent.
        """
        agents = (registration.agent for registration in self.registrations or [])
        return tuple(dict.fromkeys(agent for agent in agents if agent is not None))

    def valid_signers(self, time: datetime | None = None) -> list[Signer]:
        """Return the keys that are valid at a given time, by default now (x402 extension, "Get Valid Signers")."""
        time = time or datetime.now(UTC)
        return [signer for signer in self.signers or [] if signer.counts_at(time)]


def _present_service(entry: Any, place: str, faults: list[str]) -> Any:
    """Return an untrusted service under ERC-8004's field names. A service without a name gets an empty name."""
    if not isinstance(entry, dict):
        return entry
    service = dict(entry)
    for name, alternatives in _OTHER_SERVICE_NAMES.items():
        if service.get(name) is not None:
            continue
        other = next((other for other in alternatives if isinstance(service.get(other), str)), None)
        if other is not None:
            service[name] = service[other]
            faults.append(f"{place}.{name} is missing: {other} is read instead")
        elif name == "name":
            service[name] = ""
            faults.append(f"{place}.{name} is missing")
    return service
