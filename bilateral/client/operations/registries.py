"""Functions that read from the chain: registry addresses, call results and events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import MAXYEAR, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eth_abi.abi import encode
from eth_abi.exceptions import EncodingError

from bilateral.client.state import AgentLike, ClientState, TransactionSigner
from bilateral.core import errors
from bilateral.core.contracts import Deployment, Registry, attribute_of, network_of, packaged_deployment, selectors
from bilateral.core.contracts.codec import ContractRevertError, decode_result, encode_call
from bilateral.core.contracts.logs import RawLog
from bilateral.core.contracts.origin import Origin
from bilateral.core.events import Event, Undecodable, UndecodedLog
from bilateral.core.events.decoder import decode_log, topic_of
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.core.signatures import recover_signer, signer_errors
from bilateral.core.text import printable
from bilateral.core.values.times import chain_time
from bilateral.node import answers
from bilateral.node.logs import LogFilter, Topic, read_logs
from bilateral.node.steps import Batch, Blocking, Operation, Rpc

if TYPE_CHECKING:
    from eth_account.messages import SignableMessage

E = TypeVar("E", bound=Event)

_LOGGER: Final = logging.getLogger("bilateral.client")

NO_FUNCTION: Final = (ContractRevertError, errors.MissingFunctionError, errors.UnexpectedAnswerError)
"""Errors that a call may raise if the registry lacks the called function, as some canonical registries do."""

TOO_LARGE: Final = (errors.NodeError, errors.NodeTimeoutError, errors.MalformedNodeAnswerError, ContractRevertError)
"""Errors that may mean that a node rejected a call as too large."""


_OURS_ALONE: Final = frozenset(
    {
        *("newAgent", "updateAgent", "releaseAgentDomain", "resolveByDomain", "resolveByAddress", "setPrimaryAgent"),
        *("agentOf", "giveFeedbackBySig", "voidSignaturesThrough", "getVoidedDeadline"),
    }
)
"""Functions that canonical registries lack. This project's registries never revert without data, so such a revert shows
that the function is missing."""


_MAY_BE_TOO_LARGE: Final = frozenset(
    {
        *("getClients", "getSummary", "readAllFeedback", "getAgentValidations", "getValidatorRequests"),
        *("getFeedbackPage", "getClientFeedbackPage", "getClientRatings"),
    }
)
"""View functions whose calls a node may reject as too large. A revert without data does not prove that such a function
is missing."""


def address_of(state: ClientState) -> str | None:
    """Return the signer's address, or None if there is no signer."""
    return None if state.signer is None else require_address(state)


def require_signer(state: ClientState) -> TransactionSigner:
    """Return the signer, or raise an error if there is none."""
    if state.signer is None:
        raise errors.MissingSignerError(
            "this call needs a signer: create the client with signer=…, such as an eth-account LocalAccount"
        )
    return state.signer


def require_address(state: ClientState) -> str:
    """Return the signer's address, or raise an error if there is no signer."""
    return checksummed(require_signer(state).address)


def connect(state: ClientState) -> Operation[Deployment]:
    """Return the deployment. The first call checks the node's chain id, even if the caller passed a deployment."""
    if state.deployment is None:
        chain_id = yield from chain_id_of_node()
        if state.pinned_chain not in {None, chain_id}:
            raise errors.WrongChainError(int(state.pinned_chain or 0), chain_id, is_pinned=True)
        requested = state.requested
        deployment = requested if isinstance(requested, Deployment) else packaged_deployment(chain_id, requested)
        if deployment is None:
            raise errors.UnknownDeploymentError(chain_id, requested if isinstance(requested, Origin) else None)
        if deployment.chain_id != chain_id:
            raise errors.WrongChainError(deployment.chain_id, chain_id)
        if deployment.directory is not None:
            yield from require_one_identity_registry(deployment)
        state.deployment = deployment
    return state.deployment


def chain_id_of_node() -> Operation[int]:
    """Return the chain id that the node reports."""
    return answers.quantity((yield Rpc("eth_chainId")))


def connect_to_sign(state: ClientState) -> Operation[Deployment]:
    """Return the deployment. If the chain is known only from the node, log once for which chain the client signs."""
    deployment = yield from connect(state)
    is_node_trusted = state.pinned_chain is None and not isinstance(state.requested, Deployment)
    if is_node_trusted and not state.is_chain_announced:
        state.is_chain_announced = True
        _LOGGER.warning(
            "Signing for chain %d (%s), as reported by the node: to be sure, pass chain_id=%d or --chain %d.",
            *(deployment.chain_id, network_of(deployment.chain_id), deployment.chain_id, deployment.chain_id),
        )
    return deployment


def chain_of(agent: AgentLike) -> int:
    """Return the chain id that an agent's id includes."""
    parsed = _parse(agent)
    agent_id = parsed.agent_id if isinstance(parsed, GlobalAgentId) else parsed
    if agent_id.chain_id is None:
        raise errors.MalformedIdentifierError(
            "an agent id that includes a chain, such as 84532:42", str(agent), "the chain is missing"
        )
    return agent_id.chain_id


def agent_of(deployment: Deployment, agent: AgentLike) -> AgentId:
    """Return the id of the agent that the argument identifies, including its chain."""
    parsed = _parse(agent)
    if isinstance(parsed, AgentId):
        return parsed.on(deployment.chain_id)
    if parsed.registry != deployment.agent_registry:
        problem = f"its registry is {parsed.registry}"
        raise errors.MalformedIdentifierError(f"an agent in {deployment.agent_registry}", str(parsed), problem)
    return parsed.agent_id.on(deployment.chain_id)


def _parse(agent: AgentLike) -> AgentId | GlobalAgentId:
    if isinstance(agent, (AgentId, GlobalAgentId)):
        return agent
    return GlobalAgentId.parse(agent) if isinstance(agent, str) and "#" in agent else AgentId.parse(agent)


def calldata(registry: Registry, function: str, arguments: Sequence[Any]) -> bytes:
    """Encode a call to a registry's function as calldata."""
    try:
        return encode_call(registry, function, arguments)
    except (EncodingError, UnicodeEncodeError) as error:
        raise errors.InvalidArgumentError(f"invalid arguments of {function}: {printable(str(error)[:300])}") from None


def call(
    state: ClientState, registry: Registry, function: str, *arguments: Any, block: str = "latest"
) -> Operation[tuple[Any, ...]]:
    """Call a view function of a registry, and return its decoded results."""
    deployment = yield from connect(state)
    deployment.require_function(registry, function)
    to = deployment.address_of(registry)
    data = calldata(registry, function, arguments)
    try:
        with explained(deployment, registry, function):
            returned = yield from simulate({"to": to, "data": "0x" + data.hex()}, block)
    except (ContractRevertError, errors.MissingFunctionError) as error:
        if isinstance(error, errors.MissingFunctionError) or not (error.data or function in _MAY_BE_TOO_LARGE):
            yield from require_registry(state, registry)
        raise
    try:
        return decode_result(registry, function, returned)
    except errors.UnexpectedAnswerError as error:
        yield from require_registry(state, registry)
        raise errors.UnexpectedAnswerError(f"{error}: a contract other than {registry} is deployed at {to}") from None


@contextmanager
def explained(deployment: Deployment, registry: Registry, function: str) -> Iterator[None]:
    """Report a revert without data as a missing function if only this project's registries have the function."""
    try:
        yield
    except ContractRevertError as error:
        if error.data or function not in _OURS_ALONE:
            raise
        raise errors.MissingFunctionError(attribute_of(registry), function, deployment.chain_id) from error


def raise_if_explained(error: Exception) -> None:
    """Raise the error if it is a revert with data. A revert without data may mean that the call was too large."""
    if isinstance(error, ContractRevertError) and error.data:
        raise error


@contextmanager
def blame_registry(registry: Registry) -> Iterator[None]:
    """Convert errors about invalid values that a registry returned: the registry is to blame, not the caller."""
    try:
        yield
    except (errors.MalformedIdentifierError, errors.UnrepresentableValueError) as error:
        raise errors.UnexpectedAnswerError(f"{registry} returned an invalid value: {error}") from error


def simulate(transaction: Mapping[str, Any], block: str = "latest") -> Operation[bytes]:
    """Simulate a call and return its result."""
    try:
        return answers.data((yield Rpc("eth_call", (dict(transaction), block))))
    except errors.NodeError as error:
        revert = answers.revert_of(error)
        if revert is None:
            raise
        raise revert from revert.__cause__


def require_registry(state: ClientState, registry: Registry) -> Operation[str]:
    """Return a registry's address after checking its contract: transactions to an address without code do nothing."""
    deployment = yield from connect(state)
    address = deployment.address_of(registry)
    if address in state.checked:
        return address
    probe = question(deployment, registry)
    code, answer = yield Batch((Rpc("eth_getCode", (address, "latest")), Rpc("eth_call", (probe, "latest"))))
    if isinstance(code, Exception):
        raise code
    if not answers.data(code):
        raise errors.UnexpectedAnswerError(f"there is no contract at {address}, where {registry} should be")
    require_answer(deployment, registry, answer)
    state.checked.add(address)
    return address


def latest_block() -> Operation[int]:
    """Return the number of the latest block."""
    return answers.quantity((yield Rpc("eth_blockNumber")))


def block_time(block: int | None = None) -> Operation[datetime]:
    """Return the time of a block, by default the latest."""
    answer = yield Rpc("eth_getBlockByNumber", ("latest" if block is None else hex(block), False))
    time = chain_time(answers.quantity(answers.record(answer).get("timestamp")))
    if time.year == MAXYEAR:
        answers.malformed("a block with a time before the year 9999")
    return time


def topic(value: int | str) -> str:
    """Return the topic for an indexed number or address."""
    number = int(value, 16) if isinstance(value, str) else value
    return f"0x{number:064x}"


def events(
    state: ClientState,
    registry: Registry,
    kind: type[E],
    topics: Sequence[Topic] = (),
    matches: Callable[[RawLog], bool] | None = None,
) -> Operation[list[E]]:
    """Read a registry's events of one kind, oldest first. The node filters them by topic."""
    deployment = yield from connect(state)
    first = "0x" + topic_of(registry, kind).hex()
    log_filter = LogFilter((deployment.address_of(registry),), [first, *topics])

    last = yield from latest_block()
    logs = yield from read_logs(
        log_filter,
        (yield from _first_block(state, last)),
        last,
        limit=state.log_range,
        is_last=matches or (lambda _: False),
    )
    if matches is not None:
        logs = [raw for raw in logs if matches(raw)]
    return [event for raw in logs if isinstance(event := decode(registry, raw), kind)]


def _first_block(state: ClientState, last: int) -> Operation[int]:
    # The address book does not record when the canonical registries were deployed. If the node has old states, a search
    # for the first block with the registry's code finds out.
    deployment = yield from connect(state)
    if deployment.first_block or deployment.origin is not Origin.CANONICAL:
        return deployment.first_block
    if state.first_block is None:
        without, with_code = -1, last
        try:
            while with_code - without > 1:
                middle = (without + with_code) // 2
                code = answers.data((yield Rpc("eth_getCode", (deployment.identity, hex(middle)))))
                without, with_code = (without, middle) if code else (middle, with_code)
        except (errors.NodeError, errors.MalformedNodeAnswerError):
            with_code = 0
        state.first_block = with_code
    return state.first_block


def decode(registry: Registry, raw: RawLog) -> Event | None:
    """Decode a registry's log. Return None for an event that is not in the registry's ABI."""
    decoded = decode_log(registry, raw)
    if not isinstance(decoded, UndecodedLog):
        return decoded
    if decoded.reason is Undecodable.MALFORMED:
        name = selectors(registry, "event")[raw.topics[0]]["name"]
        raise errors.UnexpectedAnswerError(f"{registry} emitted {name} in an unexpected format: {decoded.problem}")
    return None


_BOUND: Final = "getIdentityRegistry"
_WALLET: Final = "getAgentWallet"


def require_one_identity_registry(deployment: Deployment) -> Operation[None]:
    """Check that the companion contract and the registries that use it belong to the deployment's identity registry."""
    several = (Registry.COMPANION, Registry.BIDIRECTIONAL, Registry.AUTHORIZED, Registry.BUYERS)
    present = [registry for registry in several if getattr(deployment, attribute_of(registry)) is not None]
    results = yield Batch(tuple(Rpc("eth_call", (question(deployment, registry), "latest")) for registry in present))
    for registry, answer in zip(present, results, strict=True):
        require_answer(deployment, registry, answer)


def question(deployment: Deployment, registry: Registry) -> dict[str, str]:
    """Return a call whose result distinguishes a registry from other contracts."""
    data = encode_call(registry, *((_WALLET, (0,)) if registry is Registry.IDENTITY else (_BOUND, ())))
    return {"to": deployment.address_of(registry), "data": "0x" + data.hex()}


def require_answer(deployment: Deployment, registry: Registry, answer: Any) -> None:
    """Check the result of the call that `question` returned for a registry."""
    address = deployment.address_of(registry)
    view = _WALLET if registry is Registry.IDENTITY else _BOUND
    refused = f"another contract is at {address}, where {registry} should be: it has no {view}"
    if isinstance(answer, Exception):
        if not isinstance(answer, errors.NodeError) or answers.revert_of(answer) is None:
            raise answer
        raise errors.UnexpectedAnswerError(refused)
    try:
        (identity,) = decode_result(registry, view, answers.data(answer))
    except errors.UnexpectedAnswerError:
        raise errors.UnexpectedAnswerError(refused) from None
    is_below = registry in (Registry.IDENTITY, Registry.COMPANION)
    expected = (deployment.identity,) if is_below else (deployment.identity, deployment.directory)
    if registry is not Registry.IDENTITY and identity not in expected:
        raise errors.WrongIdentityRegistryError(attribute_of(registry), address, deployment.identity, identity)


_IS_VALID_SIGNATURE: Final = bytes.fromhex("1626ba7e")
"""The selector of ERC-1271's `isValidSignature(bytes32,bytes)`, which a contract returns if a signature is valid."""

_DIGEST_BYTES: Final = 32  # of keccak-256, as EIP-712 signs it


def sign_message(signer: TransactionSigner, signable: SignableMessage) -> Operation[bytes]:
    """Sign a message."""

    def sign() -> bytes:
        with signer_errors():
            return bytes(signer.sign_message(signable).signature)

    signature: bytes = yield Blocking(sign)
    return signature


def is_valid_signature(
    state: ClientState, account: str, digest: bytes, signature: bytes, verifier: str | None
) -> Operation[bool]:
    """See `Client.is_valid_signature`."""
    if len(digest) != _DIGEST_BYTES:
        raise errors.InvalidArgumentError(f"a digest must have 32 bytes, not {len(digest)}")
    signer = checksummed(account)
    if recover_signer(digest, signature) == signer:
        return True
    yield from connect(state)
    question = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    call = {"to": signer, "data": "0x" + question.hex()} | ({"from": checksummed(verifier)} if verifier else {})
    try:
        answer = yield from simulate(call)
    except ContractRevertError:
        return False
    return answer[:32] == _IS_VALID_SIGNATURE.ljust(32, b"\0")
