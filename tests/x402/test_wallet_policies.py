"""A verifier may accept the wallet's signature, and wallets that the file names for other chains, never by default."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.x402 import (
    CheckName,
    Outcome,
    PaymentRefusedError,
    Secp256k1Key,
    Verifier,
    declare_8004_reputation,
)
from tests.x402 import examples
from tests.x402.buying import OTHER_KEY, assert_only, buy, signed_anew
from tests.x402.world import NETWORK, signer_entry


@pytest.fixture(scope="module")
def publish_raw(selling_client, deployment):
    """Publishes a registration file of the seller's agent with any fields."""

    def make(agent_id, **fields):
        file = RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
            **fields,
        )
        selling_client.set_agent_uri(agent_id, DataUriStore().put(file.to_bytes()).uri).wait()

    return make


@pytest.fixture
def own(register, seller):
    """An agent without a registration file."""
    return register(seller)


@pytest.fixture
def verifying(rpc, deployment, loader):
    """Opens a verifier with settings."""
    opened = []

    def make(**settings):
        opened.append(Verifier({rpc: deployment}, loader=loader, **settings))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


class TestWalletSigner:
    """The agent's wallet signs, and the file lists no keys."""

    @pytest.fixture
    def paid(self, own, publish_raw, sell, deployment, enrich, seller):
        """An answer that the wallet signed."""
        publish_raw(own)
        with sell(declare_8004_reputation(own, deployment), key=Secp256k1Key(bytes(seller.key))) as url:
            return buy(url, enrich())

    def test_signature_of_the_wallet_fails_by_default(self, verifier, paid):
        verification = verifier.verify(paid)
        assert verification.outcome(CheckName.SIGNERS) is Outcome.FAILED
        assert "No valid signers found" in " ".join(verification.problems)
        assert verification.wallet_signer is None

    @pytest.mark.parametrize("historical", [False, True])
    def test_wallet_may_sign_if_the_verifier_accepts_it(self, verifying, paid, seller, historical):
        verification = verifying(allow_wallet_signer=True).verify(paid, historical=historical)
        assert verification.is_verified, verification.problems
        assert (verification.wallet_signer, verification.signer) == (seller.address, None)

    def test_other_account_than_the_wallet_fails(self, verifying, paid):
        forged = signed_anew(paid, OTHER_KEY)
        assert_only(
            verifying(allow_wallet_signer=True).verify(forged), CheckName.SIGNATURE, problem="verification failed"
        )

    @pytest.mark.parametrize("entry", [signer_entry(OTHER_KEY), signer_entry(OTHER_KEY, valid_until=1)])
    def test_listed_keys_exclude_the_wallet(self, verifying, paid, own, publish_raw, entry):
        publish_raw(own, signers=[entry])
        verification = verifying(allow_wallet_signer=True).verify(paid)
        assert not verification.is_verified
        assert verification.wallet_signer is None

    def test_wallet_of_now_counts_now_and_that_of_then_for_the_past(self, verifying, paid, own, selling_client):
        selling_client.unset_agent_wallet(own).wait()
        accepting = verifying(allow_wallet_signer=True)
        assert accepting.verify(paid).outcome(CheckName.SIGNATURE) is Outcome.FAILED
        assert accepting.verify(paid, historical=True).is_verified


def wallet_service(network, address):
    return {"name": "agentWallet", "endpoint": f"{network}:{address}"}


class TestNamedWallets:
    """The registration file names wallets as services."""

    @pytest.fixture
    def till(self):
        """An account that is paid instead of the agent's wallet."""
        return Account.create()

    def test_named_wallet_is_not_accepted_by_default(self, verifier, own, publish_raw, deployment, till):
        publish_raw(own, signers=[signer_entry()], services=[wallet_service(NETWORK, till.address)])
        declared = declare_8004_reputation(own, deployment)["8004-reputation"]
        with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
            verifier.check_before_payment(declared, NETWORK, till.address)

    def test_named_wallet_is_paid_before_that_of_the_registry(
        self, verifying, own, publish_raw, sell, deployment, enrich, till, seller
    ):
        publish_raw(own, signers=[signer_entry()], services=[wallet_service(NETWORK, till.address)])
        declared = declare_8004_reputation(own, deployment)
        accepting = verifying(wallet_services=True)
        accepting.check_before_payment(declared["8004-reputation"], NETWORK, till.address)
        with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
            accepting.check_before_payment(declared["8004-reputation"], NETWORK, seller.address)
        with sell(declared, pay_to=till.address) as url:
            paid = buy(url, enrich())
        verification = accepting.verify(paid)
        assert verification.is_verified, verification.problems
        publish_raw(own, signers=[signer_entry()], services=[wallet_service(NETWORK, seller.address)])
        assert accepting.verify(paid).is_verified  # the file that was the agent's at the payment names the till
        assert accepting.verify(paid, historical=True).is_verified

    def test_wallet_of_the_registry_serves_where_the_file_names_none(self, verifying, agent, deployment, seller):
        declared = declare_8004_reputation(agent, deployment)["8004-reputation"]
        verifying(wallet_services=True).check_before_payment(declared, NETWORK, seller.address)

    @pytest.mark.parametrize("network", ["eip155:1", examples.SOLANA])
    def test_wallet_on_another_chain_is_compared(self, verifying, own, publish_raw, deployment, network, till):
        address = examples.MINT if network == examples.SOLANA else till.address
        publish_raw(own, signers=[signer_entry()], services=[wallet_service(network, address)])
        declared = declare_8004_reputation(own, deployment)["8004-reputation"]
        accepting = verifying(wallet_services=True)
        assert accepting.check_before_payment(declared, network, address).agent.agent == str(own)
        wrong = examples.MINT.swapcase() if network == examples.SOLANA else "0x" + "12" * 20
        with pytest.raises(PaymentRefusedError, match="Payment address mismatch"):
            accepting.check_before_payment(declared, network, wrong)

    @pytest.mark.parametrize(
        ("service", "code"),
        [
            ({"name": "MCP", "endpoint": "https://agent.example"}, "no_wallet_on_network"),
            ({"name": "agentWallet", "endpoint": "eip155:1:0x12"}, "no_wallet_on_network"),
            ({"name": "agentWallet", "endpoint": f"eip155:10:0x{'12' * 20}"}, "no_wallet_on_network"),
        ],
        ids=["none", "malformed", "other chain"],
    )
    def test_chain_without_a_named_wallet_is_refused(self, verifying, own, publish_raw, deployment, service, code):
        publish_raw(own, signers=[signer_entry()], services=[service])
        declared = declare_8004_reputation(own, deployment)["8004-reputation"]
        with pytest.raises(PaymentRefusedError) as refused:
            verifying(wallet_services=True).check_before_payment(declared, "eip155:1", "0x" + "12" * 20)
        assert refused.value.code == code

    @pytest.mark.parametrize("uri", ["https://127.0.0.1:9/a.json", "http://127.0.0.1:9/a.json", "data:,{}", "data:,["])
    def test_file_that_cannot_be_trusted_is_refused(self, verifying, own, selling_client, deployment, uri, seller):
        selling_client.set_agent_uri(own, uri).wait()
        declared = declare_8004_reputation(own, deployment)["8004-reputation"]
        with pytest.raises(PaymentRefusedError) as refused:
            verifying(wallet_services=True).check_before_payment(declared, NETWORK, seller.address)
        assert refused.value.code == "cannot_check"

    def test_malformed_network_is_refused(self, verifying, agent, deployment):
        declared = declare_8004_reputation(agent, deployment)["8004-reputation"]
        with pytest.raises(PaymentRefusedError) as refused:
            verifying(wallet_services=True).check_before_payment(declared, "base", "0x" + "12" * 20)
        assert refused.value.code == "unsupported_network"

    def test_payment_on_a_chain_without_a_node_stays_unchecked(
        self, verifying, own, publish_raw, sell, deployment, enrich, till
    ):
        publish_raw(own, signers=[signer_entry()], services=[wallet_service("eip155:1", till.address)])
        with sell(declare_8004_reputation(own, deployment)) as url:
            paid = buy(url, enrich())
        elsewhere = replace(paid, payment=examples.changed(paid.payment, ["accepted", "network"], "eip155:1"))
        verification = verifying(wallet_services=True).verify(elsewhere)
        assert verification.outcome(CheckName.PAYMENT) is Outcome.UNCHECKED
        assert verification.outcome(CheckName.PAY_TO) is Outcome.UNCHECKED
        assert verification.outcome(CheckName.SIGNATURE) is Outcome.PASSED
