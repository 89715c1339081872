"""Prepare an action: check its fields, and simulate it with the SDK's checks."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Final

from pydantic import Field

from bilateral.api.actions import feedback
from bilateral.api.actions.agents import EditRegistration, RegisterAgent, SetAgentWallet, SetPrimaryAgent
from bilateral.api.actions.base import Action, BlockMark, Cost, Prepared, SignatureRequest
from bilateral.api.actions.sponsored import PublishReview, SponsoredFeedback
from bilateral.api.answers import ProblemError
from bilateral.api.file_store import OperatorStore
from bilateral.api.service import Service
from bilateral.client import Client, Handle
from bilateral.client.operations.fees import most
from bilateral.client.state import RemoteSigner, SignatureNeededError
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.deployments import REGISTRY_ATTRIBUTES
from bilateral.core.errors import NODE_FAILURES, BilateralError, SignerFailedError, UnexpectedAnswerError
from bilateral.core.text.encoding import decode_object
from bilateral.core.values.currency import ether, symbol_of
from bilateral.documents import DataUriStore, Limits, Loader, Store, StoredDocument
from bilateral.explorer.networks import slug_of
from bilateral.explorer.signing import indexed_deployment

_NODE_SECONDS: Final = 5.0
"""The timeout in seconds for each node request, because a visitor has to wait for several requests."""

_LOADER: Final = Loader(limits=Limits(seconds=_NODE_SECONDS))
"""The loader for an agent's current registration file, which the owner wants to change."""

_LOGGER: Final = logging.getLogger("bilateral.api")


def prepare(service: Service, action: Action) -> Prepared:
    """Check and simulate an action, and return what the wallet has to sign."""
    if action.needs_aggregator and service.settings.aggregator is None:
        detail = "this service does not pay for feedback: send it yourself with the action give_feedback"
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "no_aggregator", detail)
    try:
        chain_id, document, sentence = action.chain_id, action.document(), action.sentence
    except BilateralError as problem:
        raise _problem(problem) from problem
    service.require_indexed([chain_id])
    prepared = Prepared(
        action=action.action,  # type: ignore[attr-defined]  # every action has its name as a field
        chain_id=chain_id,
        account=action.account,
        summary=(sentence,),
        final=action.final,
        document=document,
    )
    return prepared if action.account is None else _simulated(service, action, prepared)


def _simulated(service: Service, action: Action, prepared: Prepared) -> Prepared:
    account, chain_id = str(action.account), prepared.chain_id
    node = service.settings.nodes.get(str(chain_id))
    if node is None:
        detail = f"this service has no node for chain {chain_id}: prepare the transaction with the SDK or the CLI"
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "no_node", detail)
    deployment = indexed_deployment(service.registries(), chain_id)
    signature = getattr(action, "signature", None)
    keeps = getattr(action, "keep", False)
    store = _Recorder(OperatorStore.of(service, account)) if keeps else _InlineRecorder(DataUriStore())
    signer = RemoteSigner(account, None if signature is None else bytes.fromhex(signature[2:]))
    try:
        with Client(
            node,
            signer=signer,
            deployment=deployment,
            chain_id=chain_id,
            dry_run=True,
            request_timeout=_NODE_SECONDS,
            loader=_LOADER,
            store=store,
        ) as client:
            outcome = action.perform(client)
    except SignatureNeededError as needed:
        return _to_sign(action, store.completed(prepared), needed)
    except SignerFailedError as failure:
        if not isinstance(failure.__cause__, SignatureNeededError):
            raise
        return _to_sign(action, store.completed(prepared), failure.__cause__)
    except BilateralError as refusal:
        raise _problem(refusal) from refusal
    if isinstance(outcome, str):
        return replace(prepared, result=outcome)
    return _with_transaction(service, store.completed(prepared), outcome, deployment)


class _Recorder:
    """A wrapper around a store that remembers the last document."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._content: bytes | None = None

    def put(self, content: bytes) -> StoredDocument:
        """Store a document (see `Store`)."""
        self._content = content
        return self._store.put(content)

    def completed(self, prepared: Prepared) -> Prepared:
        """Return a prepared action with the complete document instead of form fields."""
        return prepared if self._content is None else replace(prepared, document=decode_object(self._content))


class _InlineRecorder(_Recorder, DataUriStore):
    """A recorder for files embedded in data URIs. The SDK recognises such stores by their class."""


def _to_sign(action: Action, prepared: Prepared, needed: SignatureNeededError) -> Prepared:
    path, body = action.request_of(needed.typed_data)
    message = None if needed.message is None else f"0x{needed.message.hex()}"
    request = SignatureRequest(needed.account, needed.typed_data, message, path, body, action.signature_place)
    return replace(prepared, signature=request)


def _with_transaction(service: Service, prepared: Prepared, handle: Handle[Any], deployment: Deployment) -> Prepared:
    transaction = handle.transaction
    called = next(name for name in REGISTRY_ATTRIBUTES if getattr(deployment, name) == transaction["to"])
    chain = slug_of(prepared.chain_id)
    on = f"on chain {chain}" if chain == str(prepared.chain_id) else f"on {chain} (chain {prepared.chain_id})"
    sentence = f"It calls the {called} registry {transaction['to']} {on}, and transfers no money."
    return replace(
        prepared,
        summary=(*prepared.summary, sentence),
        transaction={
            "from": str(prepared.account),
            "to": transaction["to"],
            "data": transaction["data"],
            "value": hex(transaction["value"]),
            "gas": hex(transaction["gas"]),
        },
        cost=_cost(transaction, handle.gas),
        block=next(
            BlockMark(progress.block, progress.block_hash)
            for progress in service.progress.get()
            if progress.chain_id == prepared.chain_id
        ),
    )


def _cost(transaction: Mapping[str, Any], gas: int) -> Cost:
    """Return a transaction's cost. The maximum fee per gas is twice the base fee plus the tip (see `fees.quote`)."""
    chain_id = transaction["chainId"]
    if "gasPrice" in transaction:
        price = transaction["gasPrice"]
    else:
        price = (transaction["maxFeePerGas"] + transaction["maxPriorityFeePerGas"]) // 2
    symbol = symbol_of(chain_id)
    expected, highest = (f"{ether(wei)} {symbol}" for wei in (gas * price, most(transaction)))
    sentence = f"It costs about {expected} ({gas:,} gas at {price / 10**9:.3g} gwei), and at most {highest}."
    return Cost(gas, expected, highest, sentence)


def _problem(error: BilateralError) -> ProblemError:
    """Return the problem for a rejected action. It omits the node's error message, which may contain the node's URL."""
    if isinstance(error, (*NODE_FAILURES, UnexpectedAnswerError)):
        _LOGGER.warning("a node failed while an action was prepared: %s", error)
        detail = "the node for this chain did not respond correctly: try again later"
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "node_failed", detail, headers={"Retry-After": "5"})
    status = HTTPStatus.BAD_REQUEST if isinstance(error, ValueError) else HTTPStatus.CONFLICT
    return ProblemError(status, error.reason, str(error))


AnyAction = Annotated[
    RegisterAgent
    | EditRegistration
    | SetAgentWallet
    | SetPrimaryAgent
    | feedback.GiveFeedback
    | feedback.RevokeFeedback
    | feedback.AppendResponse
    | feedback.RateClient
    | feedback.RateValidator
    | feedback.RespondToValidation
    | feedback.AuthorizeFeedback
    | PublishReview
    | SponsoredFeedback,
    Field(discriminator="action"),
]
"""An action of any kind. Its `action` field specifies the kind."""
