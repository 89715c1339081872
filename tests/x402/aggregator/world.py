"""Reviews of paid requests, made by hand: the payment is on chain, and both sides sign as the specification says."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field, fields, replace

from bilateral.core.contracts import Registry
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.signatures import Domain, Feedback
from bilateral.documents import DataUriStore, FeedbackFile
from bilateral.x402 import client_message_hash, interaction_hash
from bilateral.x402.aggregator.messages import Bodies, Submission
from bilateral.x402.aggregator.records import list_feedback
from tests.sdk.client.helpers import plain, signed_payment, transact
from tests.x402.world import NETWORK, SIGNING_KEY

REQUEST, RESPONSE = b'{"city":"Oslo"}', b"snow"


def send_payment(web3, token, payer, payee, amount):
    """Pay by an authorization (EIP-3009), which the payer itself sends."""
    payment = signed_payment(payer, payee, amount, secrets.token_bytes(32), token.address)
    values = [getattr(payment, field.name) for field in fields(payment)][:7]
    function = token.get_function_by_signature(
        "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
    )
    return transact(web3, function(*values), payer)


@dataclass(frozen=True)
class Review:
    """A review that its reviewer signs anew with each change."""

    reviewer: object
    deployment: object
    agent: GlobalAgentId
    task_ref: str
    value: int = 95
    index: int = 1
    decimals: int = 0
    tags: tuple = ("x402-resource-delivered", "proof-of-participation")
    uri: str = ""
    hash: bytes = bytes(32)
    deadline: int = field(default_factory=lambda: int(time.time()) + 86_400)
    key: object = SIGNING_KEY
    response: bytes = RESPONSE
    bodies: Bodies | None = None

    @classmethod
    def paid(cls, web3, token, reviewer, pay_to, amount, deployment, agent_id, *, number, **changes):
        """Pay for a request (EIP-3009), and review it."""
        receipt = send_payment(web3, token, reviewer, pay_to, amount)
        return cls.of_receipt(web3, receipt, reviewer, deployment, agent_id, number=number, **changes)

    @classmethod
    def of_receipt(cls, web3, receipt, reviewer, deployment, agent_id, *, number=0, **changes):
        """Review the request that a transaction paid."""
        agent = GlobalAgentId(deployment.agent_registry, str(agent_id))
        hash_ = receipt["transactionHash"]
        hash_ = hash_ if isinstance(hash_, str) else "0x" + bytes(hash_).hex()
        made = cls(reviewer, deployment, agent, f"{NETWORK}:{hash_}")
        registry = plain(web3, Registry.REPUTATION, deployment.reputation)
        index = registry.functions.getLastIndex(agent_id, reviewer.address).call() + 1
        return replace(made, **{"index": index, "response": RESPONSE + str(number).encode(), **changes})

    def but(self, **changes):
        """Return the review with changes, signed anew."""
        return replace(self, **changes)

    def bound(self):
        """Return the review with the bodies of the request."""
        return replace(self, bodies=Bodies(REQUEST, self.response))

    def with_file(self, **changes):
        """Return the review with a feedback file behind a `data:` URI."""
        content = FeedbackFile.read(self.file() | changes).to_bytes()  # as strangers write it
        stored = DataUriStore().put(content)
        return replace(self, uri=stored.uri, hash=stored.hash)

    def file(self):
        """Return the fields of the feedback file."""
        return {
            "agentRegistry": str(self.agent.registry),
            "agentId": int(self.agent.agent),
            "clientAddress": str(self.account),
            "createdAt": "2026-01-26T12:00:00Z",
            "value": self.value,
            "valueDecimals": self.decimals,
            "taskRef": self.task_ref,
            "interactionHash": "0x" + self.interaction_hash.hex(),
            "agentSignature": self.key.sign(self.interaction_hash).hex(),
            "clientSignature": self.client_signature.hex(),
        }

    @property
    def account(self):
        return AccountId(self.agent.registry.chain, self.reviewer.address)

    @property
    def interaction_hash(self):
        return interaction_hash(self.task_ref, REQUEST, self.response)

    @property
    def client_signature(self):
        digest = client_message_hash(self.agent, self.task_ref, self.value)
        return bytes(self.reviewer.unsafe_sign_hash(digest).signature)

    @property
    def message(self):
        """The message that an aggregator takes."""
        feedback = Feedback(
            int(self.agent.agent),
            self.reviewer.address,
            self.index,
            self.value,
            self.decimals,
            *self.tags,
            "https://agent.example/weather",
            self.uri,
            self.hash,
            self.deadline,
        )
        domain = Domain(self.deployment.chain_id, self.deployment.reputation)
        return Submission(
            agent=self.agent,
            task_ref=self.task_ref,
            interaction_hash=self.interaction_hash,
            agent_signature=self.key.sign(self.interaction_hash),
            reviewer=self.account,
            reviewer_signature=self.client_signature,
            feedback=feedback,
            signature=bytes(self.reviewer.sign_message(feedback.signable(domain)).signature),
            bodies=self.bodies,
        )

    @property
    def object(self):
        """The message as a JSON object."""
        return self.message.to_object()

    @property
    def content(self):
        """The message as bytes."""
        return json.dumps(self.object).encode()


def log_of(engine):
    """Return all feedback that an aggregator took, the newest first."""
    with engine.connect() as connection:
        return list_feedback(connection, {})
