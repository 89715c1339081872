"""Another chain is read by a plug-in, with the same checks; a chain without one is never reported as checked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import base58
import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import ChainId, GlobalAgentId
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.node.steps import Blocking
from bilateral.x402 import (
    AsyncVerifier,
    CheckName,
    Ed25519Key,
    Outcome,
    PaidRequest,
    Payment,
    PaymentRefusedError,
    Verifier,
    declare_8004_reputation,
    interaction_hash,
)
from bilateral.x402.proof.payments import PaymentProblemError
from bilateral.x402.proof.types import ClientAgent
from tests.x402.buying import assert_only
from tests.x402.examples import MINT, PROGRAM, SOLANA, SOLANA_TRANSACTION, changed
from tests.x402.world import signer_entry

KEY = Ed25519Key(bytes(range(6, 38)))
WALLET = base58.b58encode(bytes.fromhex(KEY.public_key)).decode()
REGISTRY = f"{SOLANA}:{PROGRAM}"
INFO = {
    "version": "1.0.0",
    "registrations": [{"agentRegistry": REGISTRY, "agentId": MINT, "reputationRegistry": REGISTRY}],
}


def file_of(*signers, services=()):
    """Write a registration file of the agent on Solana, and return its URI."""
    file = RegistrationFile.new(
        "Weather",
        "It forecasts",
        "https://agent.example/i.png",
        signers=list(signers),
        services=list(services),
        registrations=[{"agentId": MINT, "agentRegistry": REGISTRY}],
    )
    return DataUriStore().put(file.to_bytes()).uri


class Ledger:
    """A reader of a ledger that a test keeps: agents' wallets and URIs, and payments by their transactions."""

    def __init__(self):
        self.chain = ChainId.parse(SOLANA)
        self.wallets, self.uris = {MINT: WALLET}, {MINT: file_of(signer_entry(KEY))}
        self.payments = {SOLANA_TRANSACTION: (MINT, WALLET, 1000)}
        self.is_down = False

    def trusted_registration(self, info):
        for registration in info.registrations:
            if str(registration.agent.registry) == REGISTRY:
                return registration
        raise PaymentRefusedError("agent_not_registered", "the agent is not on this ledger")

    def check_registries(self, registration):  # noqa: ARG002  # a reader's arguments
        yield from self._look(lambda: None)

    def wallet(self, agent, block=None):  # noqa: ARG002  # a reader's arguments
        return (yield from self._look(lambda: self.wallets.get(agent.agent, "")))

    def uri(self, agent, block=None):  # noqa: ARG002  # a reader's arguments
        return (yield from self._look(lambda: self.uris[agent.agent]))

    def find_payment(self, accepted, payload, transaction, confirmations):  # noqa: ARG002  # a reader's arguments
        payer, payee, amount = yield from self._look(lambda: self.payments.get(transaction, ("", "", 0)))
        if str(amount) != accepted.get("amount") or payee != accepted.get("payTo"):
            raise PaymentProblemError("the transaction does not transfer the amount")
        return Payment(payer, payee, str(accepted.get("asset")), amount, 7, 0, datetime.now(UTC))

    def block_at(self, moment):  # noqa: ARG002  # a reader's arguments
        return (yield from self._look(lambda: 7))

    def _look(self, function):
        def answer():
            if self.is_down:
                raise InvalidArgumentError("the ledger is down")
            return function()

        return (yield Blocking(answer))


def paid_answer(transaction=SOLANA_TRANSACTION, key=KEY, info=None, **accepted):
    """Return a paid answer as a server on Solana signs it."""
    task_ref = f"{SOLANA}:{transaction}"
    digest = interaction_hash(task_ref, b"", b"snow")
    statement = {
        "networkId": SOLANA,
        "agentId": MINT,
        "taskRef": task_ref,
        "interactionHash": "0x" + digest.hex(),
        "agentSignature": key.sign(digest).hex(),
        "timestamp": 1737763200,
    }
    terms = {"network": SOLANA, "payTo": WALLET, "asset": PROGRAM, "amount": "1000", **accepted}
    return PaidRequest(
        payment={"accepted": terms, "extensions": {"8004-reputation": {"info": info or INFO}}},
        settlement={
            "success": True,
            "network": SOLANA,
            "transaction": transaction,
            "extensions": {"8004-reputation": statement},
        },
        request=b"",
        response=b"snow",
        target="GET https://agent.example/weather",
    )


@pytest.fixture
def ledger():
    return Ledger()


@pytest.fixture
def verifying(ledger):
    """Runs a method of a verifier with settings, with the blocking or the asynchronous face."""

    def run(method, *arguments, face="blocking", **settings):
        if face == "blocking":
            with Verifier({}, readers=[ledger], **settings) as verifier:
                return getattr(verifier, method)(*arguments)

        async def call():
            async with AsyncVerifier({}, readers=[ledger], **settings) as verifier:
                return await getattr(verifier, method)(*arguments)

        return asyncio.run(call())

    return run


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_agent_and_answer_are_verified_by_a_plug_in(verifying, face):
    registration = verifying("check_before_payment", INFO, SOLANA, WALLET, face=face)
    assert str(registration.agent) == f"{REGISTRY}#{MINT}"
    verification = verifying("verify", paid_answer(), face=face)
    assert verification.is_verified, verification.problems
    assert verification.signer.algorithm == "ed25519"


def test_wallet_of_solana_is_compared_exactly(verifying, ledger):
    for payee in (WALLET.lower(), WALLET.swapcase(), ""):
        with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
            verifying("check_before_payment", INFO, SOLANA, payee)
    ledger.wallets.clear()
    with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
        verifying("check_before_payment", INFO, SOLANA, "")


def test_other_payment_and_other_wallet_fail(verifying, ledger):
    verification = verifying("verify", paid_answer(amount="1001"))
    assert verification.outcome(CheckName.PAYMENT) is Outcome.FAILED
    assert verification.outcome(CheckName.PAY_TO) is Outcome.UNCHECKED
    ledger.wallets[MINT] = MINT
    assert_only(verifying("verify", paid_answer()), CheckName.PAY_TO, problem="mismatch")


def test_key_that_is_not_listed_fails(verifying):
    forged = paid_answer(key=Ed25519Key(bytes(range(7, 39))))
    assert_only(verifying("verify", forged), CheckName.SIGNATURE)


def test_wallet_of_solana_may_sign_if_the_verifier_accepts_it(verifying, ledger):
    ledger.uris[MINT] = file_of()
    assert not verifying("verify", paid_answer()).is_verified
    verification = verifying("verify", paid_answer(), allow_wallet_signer=True)
    assert verification.is_verified, verification.problems
    assert verification.wallet_signer == WALLET
    forged = paid_answer(key=Ed25519Key(bytes(range(7, 39))))
    assert_only(verifying("verify", forged, allow_wallet_signer=True), CheckName.SIGNATURE)


def test_plug_in_that_fails_leaves_checks_undone_and_refuses_payments(verifying, ledger):
    ledger.is_down = True
    with pytest.raises(PaymentRefusedError) as refused:
        verifying("check_before_payment", INFO, SOLANA, WALLET)
    assert refused.value.code == "cannot_check"
    verification = verifying("verify", paid_answer())
    assert verification.outcome(CheckName.PAYMENT) is Outcome.UNCHECKED
    assert verification.outcome(CheckName.REGISTRATION_FILE) is Outcome.UNCHECKED


@pytest.mark.parametrize("method", ["trusted_registration", "check_registries", "wallet"])
def test_exception_of_a_plug_in_refuses_the_payment(verifying, ledger, monkeypatch, method):
    def fail(*_):
        raise KeyError("https://rpc.example/secret-key")

    monkeypatch.setattr(ledger, method, fail)
    with pytest.raises(PaymentRefusedError) as refused:
        verifying("check_before_payment", INFO, SOLANA, WALLET)
    assert refused.value.code == "cannot_check"
    assert str(refused.value) == "the plug-in for this chain failed with KeyError"


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize(
    ("method", "failed"),
    [
        ("trusted_registration", CheckName.AGENT),
        ("wallet", CheckName.PAY_TO),
        ("uri", CheckName.REGISTRATION_FILE),
        ("find_payment", CheckName.PAYMENT),
    ],
)
def test_exception_of_a_plug_in_leaves_its_check_undone(verifying, ledger, monkeypatch, method, failed, face):
    """It may come at once, or while the operation runs."""

    def later(*_):
        yield Blocking(lambda: None)
        raise ZeroDivisionError

    monkeypatch.setattr(ledger, method, later if method != "trusted_registration" else lambda _: 1 / 0)
    check = verifying("verify", paid_answer(), face=face).check(failed)
    assert (check.outcome, check.code) == (Outcome.UNCHECKED, "cannot_check")
    assert "ZeroDivisionError" in check.problem


def test_answer_of_a_plug_in_with_another_type_leaves_its_check_undone(verifying, ledger, monkeypatch):
    def nothing(*_):
        yield Blocking(lambda: None)

    monkeypatch.setattr(ledger, "wallet", nothing)
    with pytest.raises(PaymentRefusedError, match="returned NoneType instead of str"):
        verifying("check_before_payment", INFO, SOLANA, WALLET)
    check = verifying("verify", paid_answer()).check(CheckName.PAY_TO)
    assert (check.outcome, check.code) == (Outcome.UNCHECKED, "cannot_check")


def test_agent_that_the_plug_in_does_not_know_is_refused(verifying):
    strange = changed(INFO, ["registrations", 0, "agentRegistry"], f"{SOLANA}:{MINT}")
    with pytest.raises(PaymentRefusedError) as refused:
        verifying("check_before_payment", strange, SOLANA, WALLET)
    assert refused.value.code == "agent_not_registered"


def test_client_agent_on_a_chain_without_ratings_is_refused(verifying):
    claim = ClientAgent(GlobalAgentId.parse(f"{REGISTRY}#{MINT}"))
    with pytest.raises(PaymentRefusedError) as refused:
        verifying("check_client", claim, WALLET, 1)
    assert refused.value.code == "unsupported_network"


def test_without_a_plug_in_the_chain_is_never_checked():
    with Verifier({}) as verifier:
        with pytest.raises(PaymentRefusedError) as refused:
            verifier.check_before_payment(INFO, SOLANA, WALLET)
        assert refused.value.code == "unsupported_network"
        verification = verifier.verify(paid_answer())
    assert {check.outcome for check in verification.checks} == {Outcome.UNCHECKED}


def test_two_readers_of_one_chain_are_refused(ledger):
    with pytest.raises(InvalidArgumentError, match="two deployments are on solana"):
        Verifier({}, readers=[ledger, Ledger()])


def test_agent_on_an_evm_chain_is_paid_on_solana(
    rpc, deployment, loader, ledger, register, seller, selling_client, web3
):
    """The identity is on one chain, the payment on another, where the registration file names a wallet."""
    agent_id = register(seller)
    file = RegistrationFile.new(
        "Weather",
        "It forecasts",
        "https://agent.example/i.png",
        signers=[signer_entry(KEY)],
        services=[{"name": "agentWallet", "endpoint": f"{SOLANA}:{WALLET}"}],
        registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
    )
    selling_client.set_agent_uri(agent_id, DataUriStore().put(file.to_bytes()).uri).wait()
    web3.provider.make_request("anvil_mine", ["0x5"])
    info = declare_8004_reputation(agent_id, deployment)["8004-reputation"]["info"]
    paid = paid_answer(info=info)
    statement = paid.settlement["extensions"]["8004-reputation"] | {"agentId": str(agent_id)}
    paid = replace(paid, settlement=paid.settlement | {"extensions": {"8004-reputation": statement}})
    with Verifier({rpc: deployment}, readers=[ledger], loader=loader, wallet_services=True) as accepting:
        assert accepting.check_before_payment(info, SOLANA, WALLET).agent.agent == str(agent_id)
        for historical in (False, True):
            verification = accepting.verify(paid, historical=historical)
            assert verification.is_verified, verification.problems
    with Verifier({rpc: deployment}, readers=[ledger], loader=loader) as strict:
        with pytest.raises(PaymentRefusedError):
            strict.check_before_payment(info, SOLANA, WALLET)
        assert not strict.verify(paid).is_verified


@pytest.mark.parametrize("ago", [0, 1, 10])
def test_block_of_a_moment_is_found(rpc, deployment, web3, verifier, ago):
    web3.provider.make_request("anvil_mine", ["0x14", "0x2"])
    latest = web3.eth.block_number
    wanted = latest - ago
    moment = datetime.fromtimestamp(web3.eth.get_block(wanted)["timestamp"], UTC)
    reader = verifier._chains.reader(f"eip155:{deployment.chain_id}")
    assert verifier._runners[str(reader.chain)].run(reader.block_at(moment)) == wanted
