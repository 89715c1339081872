"""The extension's messages: the server's declaration, the client's claim to be an agent, and the signed interaction.

`of` reads a message strictly but ignores unknown fields; `to_object` writes it. The JSON Schema in a server's
declaration is never used for reading, because the server chooses that schema too.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Self

from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId, TransactionRef
from bilateral.core.signatures.blind_ratings import MAX_SERVER_LIFETIME
from bilateral.x402.proof import fields as read
from bilateral.x402.proof.errors import Fault, InvalidMessageError

REPUTATION_8004: Final = "8004-reputation"
"""The extension's key in `extensions` of x402 messages."""

VERSION: Final = "1.0.0"
"""The version of the extension that this package writes. The package can read every version 1.x."""

X402_VERSION: Final = 2
"""The version of x402 that uses the headers `PAYMENT-REQUIRED` and `PAYMENT-SIGNATURE`."""

MAX_REGISTRATIONS: Final = 32  # as many fit into `MAX_PAYMENT_HEADER`

_VERSION = re.compile(r"([0-9]{1,6})\.[0-9]{1,6}\.[0-9]{1,6}")
_SIGNATURE_BYTES: Final = (64, 65)  # r and s, or an Ed25519 signature; r, s and v


@dataclass(frozen=True)
class AgentRegistration:
    """A server's agent on one chain ("AgentRegistration Object").

    Attributes:
        agent: The agent in its identity registry.
        reputation_registry: The reputation registry on the same chain. On some chains, it is the identity registry
            itself. None in the profile `reputation`, which omits it.
    """

    agent: GlobalAgentId
    reputation_registry: AccountId | None

    def __post_init__(self) -> None:
        """Reject registries on different chains."""
        if self.reputation_registry is not None:
            _require_chain("reputationRegistry", self.reputation_registry, self.agent.registry)

    @property
    def chain(self) -> ChainId:
        """The chain of both registries."""
        return self.agent.registry.chain

    @classmethod
    def of(cls, value: Any, path: str = "registrations[0]", *, is_draft: bool = False) -> Self:
        """Read a registration.

        Args:
            path: The location of the object in the message, for error messages.
            is_draft: True in the profile `reputation`, whose registrations omit the reputation registry.
        """
        fields = read.record(value, path)
        path += "."
        registry = read.account(fields, "agentRegistry", path)
        agent = read.agent(registry, fields, "agentId", path)
        if is_draft:
            return cls(agent, None)
        reputation = read.account(fields, "reputationRegistry", path)
        _require_chain(path + "reputationRegistry", reputation, registry)
        return cls(agent, reputation)

    def to_object(self) -> dict[str, str]:
        """Return the registration as a JSON object."""
        message = {"agentRegistry": str(self.agent.registry), "agentId": self.agent.agent}
        return message | _present(reputationRegistry=self.reputation_registry and str(self.reputation_registry))


@dataclass(frozen=True)
class BlindTerms:
    """A server's offer to exchange blind ratings with its clients (our extension; see docs/blind-ratings.md).

    Attributes:
        after: The number of a client's first paid interaction, counted from 1, in which the answer includes the
            server's envelope. A rating is final, so a server may want to get to know its clients first.
        lifetime: An envelope's lifetime in seconds; at most 14 days.
    """

    after: int = 1
    lifetime: int = MAX_SERVER_LIFETIME

    def __post_init__(self) -> None:
        """Reject terms that are out of range."""
        for name, most in (("after", read.MAX_SECONDS - 1), ("lifetime", MAX_SERVER_LIFETIME)):
            if not 1 <= getattr(self, name) <= most:
                raise InvalidMessageError(f"blind.{name}", "malformed", f"the number is out of range 1..{most}")

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read the terms."""
        fields = read.record(value, "blind")
        return cls(read.whole(fields, "after"), read.whole(fields, "lifetime"))

    def to_object(self) -> dict[str, int]:
        """Return the terms as a JSON object."""
        return {"after": self.after, "lifetime": self.lifetime}


@dataclass(frozen=True)
class ReputationInfo:
    """A server's declaration: the extension's `info` in a 402 response ("ReputationInfo Structure").

    Attributes:
        registrations: The registrations of the server's agents; at least one.
        version: The version of the extension.
        endpoint: The server's service URL.
        feedback_aggregator: The URL of a service that sends signed feedback and pays for the gas.
        blind: The terms for blind ratings; None if the server does not offer them.
        free_answers: True if the server delivers answers without a proof when it charges nothing for them (`upto`).
    """

    registrations: tuple[AgentRegistration, ...]
    version: str = VERSION
    endpoint: str | None = None
    feedback_aggregator: str | None = None
    blind: BlindTerms | None = None
    free_answers: bool = False

    @classmethod
    def of(cls, value: Any, *, is_draft: bool = False) -> Self:
        """Read a declaration: `info`, or the object that contains it.

        Args:
            is_draft: True in the profile `reputation`.
        """
        fields = read.record(value, "info")
        if "info" in fields:
            fields = read.record(fields["info"], "info")
        version = read.text(fields, "version")
        match = _VERSION.fullmatch(version)
        if not match:
            raise InvalidMessageError("version", "malformed", "expected three numbers, such as 1.0.0")
        if int(match[1]) != 1:
            raise InvalidMessageError("version", "unsupported_version", f"version {version} is not supported")
        listed = read.required(fields, "registrations", "", list, "a list")
        if not listed:
            raise InvalidMessageError("registrations", "malformed", "the list is empty")
        if len(listed) > MAX_REGISTRATIONS:
            problem = f"{len(listed)} exceed the limit of {MAX_REGISTRATIONS}"
            raise InvalidMessageError("registrations", "too_many", problem)
        registrations = tuple(
            AgentRegistration.of(entry, f"registrations[{at}]", is_draft=is_draft) for at, entry in enumerate(listed)
        )
        if is_draft:
            return cls(registrations, version)
        return cls(
            registrations=registrations,
            version=version,
            endpoint=read.optional_uri(fields, "endpoint"),
            feedback_aggregator=read.optional_uri(fields, "feedbackAggregator"),
            blind=None if fields.get("blind") is None else BlindTerms.of(fields["blind"]),
            free_answers=fields.get("freeAnswers") is True,
        )

    def to_object(self) -> dict[str, Any]:
        """Return the declaration as a JSON object."""
        registrations = [registration.to_object() for registration in self.registrations]
        blind = None if self.blind is None else self.blind.to_object()
        optional: dict[str, Any] = {"endpoint": self.endpoint, "feedbackAggregator": self.feedback_aggregator}
        optional |= {"blind": blind, "freeAnswers": self.free_answers or None}
        return {"version": self.version, "registrations": registrations} | _present(**optional)

    def registration_on(self, network: str) -> AgentRegistration | None:
        """Return the first registration on a network (CAIP-2), or None ("Step 1")."""
        return next((registration for registration in self.registrations if str(registration.chain) == network), None)


@dataclass(frozen=True)
class ClientAgent:
    """A client's claim to be an agent ("Client Identity in PaymentPayload"). Anyone can make this claim.

    Attributes:
        agent: The claimed agent.
    """

    agent: GlobalAgentId

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """Read a claim inside `info`, where this package writes it, or beside `info`, as in the specification.

        Args:
            value: `extensions["8004-reputation"]` of a payment payload.

        Returns:
            The claim; None if the client makes none.
        """
        if value is None:
            return None
        outer = read.record(value, "8004-reputation")
        info = outer.get("info")
        for fields in (info, outer):
            if isinstance(fields, dict) and ("clientAgentRegistry" in fields or "clientAgentId" in fields):
                registry = read.account(fields, "clientAgentRegistry")
                return cls(read.agent(registry, fields, "clientAgentId"))
        return None

    def to_object(self) -> dict[str, str]:
        """Return the claim as two fields to put into `info`."""
        return {"clientAgentRegistry": str(self.agent.registry), "clientAgentId": self.agent.agent}


@dataclass(frozen=True)
class InteractionData:
    """A server's signed statement about one paid request ("InteractionData Fields").

    Attributes:
        network: The payment's network.
        agent_id: The agent's id in its registry.
        task_ref: The reference to the payment's transaction, exactly as it was hashed.
        interaction_hash: The signed hash.
        signature: The agent's signature: 64 bytes for ed25519, 64 or 65 for secp256k1.
        timestamp: The Unix time of the signature. It is not signed, so display it, but never base a decision on it.
            None in the profile `reputation`.
        agent_registry: The identity registry. This package adds this field, which is not in the specification.
        data_hash: The hash of both bodies. Like the next three fields, it exists only in the profile `reputation`.
        public_key: The signing key's public key.
        algorithm: The key's signature scheme.
        feedback_endpoint: The URL of a service that accepts feedback.
        sealed_rating: The server's sealed rating of the client (envelope), as received, or None. The signed hash does
            not cover the envelope, which has its own signature.
    """

    network: ChainId
    agent_id: str
    task_ref: str
    interaction_hash: bytes
    signature: bytes
    timestamp: int | None
    agent_registry: AccountId | None = None
    data_hash: bytes | None = None
    public_key: bytes | None = None
    algorithm: str | None = None
    feedback_endpoint: str | None = None
    sealed_rating: Any = None

    @classmethod
    def of(cls, value: Any) -> Self:
        """Read a statement, either bare or, as in other extensions, wrapped in `info` or `info.interaction`."""
        fields = read.record(value, "8004-reputation")
        for name in ("info", "interaction"):
            if isinstance(fields.get(name), dict):
                fields = fields[name]
        network = read.chain(fields, "networkId")
        payment = read.transaction(fields, "taskRef")
        if payment.chain != network:
            raise InvalidMessageError("taskRef", "wrong_chain", f"{payment} is not on {network}, as networkId states")
        registry = None if fields.get("agentRegistry") is None else read.account(fields, "agentRegistry")
        agent_id = read.text(fields, "agentId")
        if registry is not None:
            if registry.chain != network:
                raise InvalidMessageError("agentRegistry", "wrong_chain", f"{registry} is not on {network}")
            read.agent(registry, fields, "agentId")
        return cls(
            network=network,
            agent_id=agent_id,
            task_ref=fields["taskRef"],
            interaction_hash=read.hexadecimal(fields, "interactionHash", 32),
            signature=read.hexadecimal(fields, "agentSignature", *_SIGNATURE_BYTES),
            timestamp=read.whole(fields, "timestamp"),
            agent_registry=registry,
            sealed_rating=fields.get("sealedRating"),
        )

    @property
    def payment(self) -> TransactionRef:
        """The payment's transaction."""
        return read.transaction({"taskRef": self.task_ref}, "taskRef")

    def to_object(self) -> dict[str, Any]:
        """Return the statement as a JSON object."""
        return {
            "networkId": str(self.network),
            "agentId": self.agent_id,
            **_present(agentRegistry=self.agent_registry and str(self.agent_registry)),
            "taskRef": self.task_ref,
            "interactionHash": "0x" + self.interaction_hash.hex(),
            "agentSignature": self.signature.hex(),
            "timestamp": self.timestamp,
            **_present(sealedRating=self.sealed_rating),
        }


@dataclass(frozen=True)
class SettlementReceipt:
    """A settlement as reported by the server in `PAYMENT-RESPONSE`, without any proof.

    Attributes:
        is_success: True if the server reports that the payment was settled.
        network: The payment's network.
        transaction: The payment's transaction.
        payer: The account that paid, if the server reports it.
        interaction: The unparsed statement from the extensions; None if it is missing.
        amount: The amount paid according to the server, in the token's smallest unit; None if the server reports no
            amount.
    """

    is_success: bool
    network: str
    transaction: str
    payer: str | None
    interaction: Any
    amount: str | None = None

    @property
    def is_of_nothing(self) -> bool:
        """True if the server reports that it charged nothing (scheme `upto`), so that there is no transaction."""
        return self.is_success and not self.transaction and self.amount == "0"

    @classmethod
    def of(cls, value: Any, key: str = REPUTATION_8004) -> Self:
        """Read a settlement, either flat, as x402 writes it, or wrapped, as in the specification's example.

        Args:
            key: The statement's key in the extensions.
        """
        fields = read.record(value, "PAYMENT-RESPONSE")
        extensions = fields.get("extensions")
        if extensions is not None:
            extensions = read.record(extensions, "extensions").get(key)
        settled, names = fields, ("network", "transaction")
        if "settlementResponse" in fields:
            settled, names = read.record(fields["settlementResponse"], "settlementResponse"), ("networkId", "txHash")
        success = settled.get("success")
        if not isinstance(success, bool):
            fault: Fault = "missing" if success is None else "wrong_type"
            raise InvalidMessageError("success", fault, "expected true or false")
        payer = None if settled.get("payer") is None else read.text(settled, "payer")
        amount = None if settled.get("amount") in (None, "") else read.text(settled, "amount")
        network, transaction = read.text(settled, names[0]), ""
        if settled.get(names[1]) != "" or amount != "0":
            transaction = read.text(settled, names[1])
        return cls(success, network, transaction, payer, extensions, amount)


def _require_chain(name: str, reputation: AccountId, registry: AccountId) -> None:
    if reputation.chain != registry.chain:
        raise InvalidMessageError(name, "wrong_chain", f"{reputation} is not on the chain of {registry}")


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
