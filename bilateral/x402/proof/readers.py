"""Readers for agents and payments, one per chain. `EvmReader` is built in; readers for other chains are plug-ins.

Every function is an operation (`bilateral.node.steps`). A plug-in with the attribute `provider`, a node's URL, yields
requests to that node. A plug-in without `provider` yields `Blocking` steps that call its own functions. Two more
attributes are optional: `for_one_check`, which returns a reader for one verification, and `remarks` (see
`GuardedReader`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from bilateral.client.operations.registries import block_time, call, latest_block
from bilateral.client.state import ClientState
from bilateral.core.contracts import Deployment, Registry
from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId
from bilateral.core.identifiers.caip import ZERO_ADDRESS
from bilateral.node.steps import Operation
from bilateral.x402.proof import payments, settlements, verdicts
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.payments import PaymentProblemError, signed_payment
from bilateral.x402.proof.settlements import Settlement
from bilateral.x402.proof.types import AgentRegistration, ReputationInfo

_T = TypeVar("_T")


class RegistryReader(Protocol):
    """Reads the registries and payments on one chain. Only the reader's own registries are trusted."""

    @property
    def chain(self) -> ChainId:
        """The chain."""

    def trusted_registration(self, info: ReputationInfo) -> AgentRegistration:
        """Return a server's registration in the registries that this reader trusts.

        Raises:
            PaymentRefusedError: The server has no registration on this chain, or only in untrusted registries.
        """

    def check_registries(self, registration: AgentRegistration) -> Operation[None]:
        """Check that a registration's two registries belong together.

        Raises:
            PaymentRefusedError: The registries do not belong together.
        """

    def wallet(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return the account that receives payments for an agent, or an empty string if there is none.

        Args:
            block: The block as of which to read the value; by default the latest block.
        """

    def uri(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return the URI of an agent's registration file. Takes the same arguments as `wallet`."""

    def find_payment(
        self, accepted: dict[str, Any], payload: dict[str, Any], transaction: str, confirmations: int
    ) -> Operation[verdicts.Payment]:
        """Find a payment on chain.

        Args:
            accepted: The terms that the client accepted.
            payload: The `payload` field of the payment payload that the client sent.
            confirmations: The number of blocks that must confirm the payment, including its own.

        Raises:
            PaymentProblemError: The transaction is not this payment.
        """

    def block_at(self, as_of: datetime) -> Operation[int]:
        """Return the last block at or before a time."""


_ANSWERS: Final[dict[str, type]] = {
    "check_registries": type(None),
    "wallet": str,
    "uri": str,
    "find_payment": verdicts.Payment,
    "block_at": int,
}
"""A plug-in's operations, each with its result type."""


class GuardedReader:
    """Wraps a plug-in, and converts the plug-in's own exceptions and results of the wrong type to rejections.

    Args:
        reader: The plug-in.
    """

    def __init__(self, reader: RegistryReader) -> None:
        self._reader = reader
        self.chain = reader.chain
        self.provider: str | None = getattr(reader, "provider", None)

    def for_one_check(self) -> Any:
        """Return the plug-in's reader for a single verification, or this reader if the plug-in provides none."""
        make = getattr(self._reader, "for_one_check", None)
        return self if make is None else GuardedReader(make())

    def remarks(self, agent: GlobalAgentId) -> tuple[str, ...]:
        """Return remarks about an agent that do not change the outcome of a verification."""
        read = getattr(self._reader, "remarks", None)
        return () if read is None else tuple(read(agent))

    def trusted_registration(self, info: ReputationInfo) -> AgentRegistration:
        """Return a server's registration in the registries that the plug-in trusts."""
        with _guarding():
            registration = self._reader.trusted_registration(info)
        return _typed(registration, AgentRegistration)

    def find_settlement(self, accepted: dict[str, Any], payload: dict[str, Any]) -> Operation[Settlement]:
        """Look up whether a payment was settled, if the plug-in supports this."""
        find = getattr(self._reader, "find_settlement", None)
        if find is None:
            return Settlement(None, problem=f"payments on {self.chain} cannot be looked up")
        return (yield from _guarded_operation(lambda: find(accepted, payload), Settlement))

    def __getattr__(self, name: str) -> Any:
        """Return one of the plug-in's operations, with checks of its result and exceptions."""
        if name not in _ANSWERS:
            raise AttributeError(name)
        return lambda *arguments: _guarded_operation(lambda: getattr(self._reader, name)(*arguments), _ANSWERS[name])


def for_one_check(reader: RegistryReader) -> RegistryReader:
    """Return a reader that reads each agent only once, if the given reader supports that."""
    return reader.for_one_check() if isinstance(reader, GuardedReader) else reader


@contextmanager
def _guarding() -> Iterator[None]:
    """Convert a plug-in's own exceptions to rejections. Omit their text, because it may contain an API key."""
    try:
        yield
    except (BilateralError, PaymentProblemError):
        raise
    except Exception as error:
        problem = f"the plug-in for this chain failed with {type(error).__name__}"
        raise PaymentRefusedError("cannot_check", problem) from error


def _guarded_operation(start: Callable[[], Operation[_T]], expected: type[_T]) -> Operation[_T]:
    with _guarding():
        result = yield from start()
    return _typed(result, expected)


def _typed(result: _T, expected: type[_T]) -> _T:
    if not isinstance(result, expected):
        problem = f"the plug-in returned {type(result).__name__} instead of {expected.__name__}"
        raise PaymentRefusedError("cannot_check", problem)
    return result


class EvmReader:
    """Reads an EVM chain with the SDK client's operations.

    Args:
        state: The state of an SDK client that has a deployment.
        confirmations: The number of blocks that must confirm that a payment has expired.

    Raises:
        InvalidArgumentError: The deployment has no reputation registry.
    """

    def __init__(self, state: ClientState, confirmations: int = 1) -> None:
        self.state, self._confirmations = state, confirmations
        self._deployment = deployment_of(state)
        self.chain = self._deployment.agent_registry.chain
        if self._deployment.reputation is None:
            raise InvalidArgumentError(f"the deployment on {self.chain} has no reputation registry")
        self._reputation = AccountId(self.chain, self._deployment.reputation)

    def trusted_registration(self, info: ReputationInfo) -> AgentRegistration:
        """Return a server's registration. Only the deployment's registries are accepted."""
        return registration_among(info, self._deployment.agent_registry, self._reputation)

    def check_registries(self, registration: AgentRegistration) -> Operation[None]:
        """Check that the reputation registry refers to the identity registry."""
        (identity,) = yield from call(self.state, Registry.REPUTATION, "getIdentityRegistry")
        if identity != registration.agent.registry.address:
            problem = f"{self._reputation} belongs to a different identity registry, {identity}"
            raise PaymentRefusedError("registry_mismatch", problem)

    def wallet(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return an agent's wallet (`getAgentWallet`)."""
        wallet = yield from self._read("getAgentWallet", agent, block)
        return "" if wallet == ZERO_ADDRESS else wallet

    def uri(self, agent: GlobalAgentId, block: int | None = None) -> Operation[str]:
        """Return an agent's URI (`tokenURI`)."""
        return (yield from self._read("tokenURI", agent, block))

    def find_payment(
        self, accepted: dict[str, Any], payload: dict[str, Any], transaction: str, confirmations: int
    ) -> Operation[verdicts.Payment]:
        """Find a payment by its transaction."""
        return (yield from payments.find_payment(signed_payment(accepted, payload), transaction, confirmations))

    def find_settlement(self, accepted: dict[str, Any], payload: dict[str, Any]) -> Operation[Settlement]:
        """Look up whether a payment was settled. Plug-ins need not have this method."""
        return (yield from settlements.find_settlement(accepted, payload, self._confirmations))

    def block_at(self, as_of: datetime) -> Operation[int]:
        """Return the last block at or before a time, by bisection with one request per step."""
        low, high = 0, (yield from latest_block())
        while low < high:
            middle = (low + high + 1) // 2
            if (yield from block_time(middle)) <= as_of:
                low = middle
            else:
                high = middle - 1
        return low

    def _read(self, function: str, agent: GlobalAgentId, block: int | None) -> Operation[str]:
        at = "latest" if block is None else hex(block)
        (value,) = yield from call(self.state, Registry.IDENTITY, function, agent.agent_id.token_id, block=at)
        return str(value)


def registration_among(info: ReputationInfo, identity: AccountId, reputation: AccountId) -> AgentRegistration:
    """Return a server's registration in the registries that a reader trusts."""
    there = [registration for registration in info.registrations if registration.chain == identity.chain]
    if not there:
        raise PaymentRefusedError("agent_not_registered", verdicts.NOT_REGISTERED_ON_PAYMENT_NETWORK)
    for registry in there:
        if registry.agent.registry == identity and registry.reputation_registry in {None, reputation}:
            return AgentRegistration(registry.agent, reputation)
    declared = f"{there[0].agent.registry} and {there[0].reputation_registry or 'its reputation registry'}"
    raise PaymentRefusedError("unknown_registry", f"the registries {declared} are not on the allow-list")


def deployment_of(state: ClientState) -> Deployment:
    """Return the deployment that was passed to a verifier for a chain."""
    assert isinstance(state.requested, Deployment)  # noqa: S101  # a verifier always gives one
    return state.requested


def is_same_account(chain: ChainId, first: str, second: str) -> bool:
    """Compare two addresses: case-insensitively on EVM chains, exactly on others (specification, "Step 3")."""
    if not first or not second:
        return False
    return first.lower() == second.lower() if chain.is_evm else first == second
