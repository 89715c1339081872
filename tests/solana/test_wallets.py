"""The wallet of an agent of SATI, its registration file, and its keys, in the checks before and after a payment."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from solders.pubkey import Pubkey

from bilateral.core.text.encoding import encode_object
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.solana.addresses import DEVNET, MAINNET, SATI
from bilateral.x402 import AsyncVerifier, CheckName, Ed25519Key, Outcome, PaymentRefusedError, Secp256k1Key, Verifier
from bilateral.x402.proof.solana import SatiReader, declare_solana_reputation
from simulation.solana import instructions as ix
from tests.solana.conftest import KEY, file_of
from tests.solana.paying import buy
from tests.x402.buying import assert_only
from tests.x402.world import signer_entry

OTHER_KEY = Ed25519Key(bytes(range(7, 39)))


@pytest.fixture
def info(agent):
    return declare_solana_reputation(agent, MAINNET)["8004-reputation"]["info"]


@pytest.fixture
def wallet(world, owner, agent):
    """Writes the agent's wallet into its metadata."""
    return lambda text: world.set_field(owner, Pubkey.from_string(agent), "agentWallet", text)


@pytest.fixture
def republish(world, owner, agent):
    """Gives the agent another registration file."""
    return lambda uri: world.set_field(owner, Pubkey.from_string(agent), "uri", uri)


def code_of(verifier, info, pay_to):
    with pytest.raises(PaymentRefusedError) as refused:
        verifier.check_before_payment(info, MAINNET, str(pay_to))
    return refused.value.code


@pytest.mark.parametrize(
    ("form", "remarks"), [(f"{MAINNET}:{{}}", 0), ("solana:{}", 1), ("{}", 1)], ids=["CAIP-10", "solana", "bare"]
)
def test_s16_wallet_is_read_in_each_form_that_sati_writes(
    run, reader, verifier, agent, info, wallet, stranger, form, remarks
):
    wallet(form.format(stranger.pubkey()))
    completed = run(reader.agent(agent))
    assert (completed.wallet, completed.wallet_source, len(completed.remarks)) == (
        str(stranger.pubkey()),
        "metadata",
        remarks,
    )
    assert verifier.check_before_payment(info, MAINNET, str(stranger.pubkey())).agent.agent == agent


@pytest.mark.parametrize("text", ["{}:{}", "", "eip155:8453:0x" + "12" * 20])
def test_s16_wallet_on_another_chain_or_none_is_empty(run, reader, verifier, agent, info, wallet, owner, text):
    wallet(text.format(DEVNET, owner.pubkey()))
    assert run(reader.agent(agent)).wallet == ""
    assert code_of(verifier, info, owner.pubkey()) == "payment_address_mismatch"


@pytest.mark.parametrize("text", ["?", "solana:", "solana:0OIl", "eip155:8453", f"{MAINNET}:12", "solana:a:b:c"])
def test_s16_malformed_wallet_is_refused_and_not_replaced_by_the_owner(verifier, info, wallet, owner, text):
    wallet(text)
    assert code_of(verifier, info, owner.pubkey()) == "malformed_wallet"


def test_s17_holder_is_the_wallet_if_the_agent_names_none_and_the_result_says_so(verifier, bought, own, wallet, owner):
    assert verifier.verify(bought).remarks[0] == "the wallet is from: owner"
    wallet(f"{MAINNET}:{owner.pubkey()}")
    verification = verifier.verify(own)
    assert verification.remarks[0] == "the wallet is from: metadata"


def test_s18_wallet_is_compared_exactly_and_is_not_the_token_account(verifier, info, owner, asset):
    payee = str(owner.pubkey())
    verifier.check_before_payment(info, MAINNET, payee)
    for other in (payee.lower(), payee.swapcase(), ix.associated(owner.pubkey(), asset), ""):
        assert code_of(verifier, info, other) == "payment_address_mismatch"


def test_s17_wallet_of_the_file_is_preferred_on_request(reader, info, republish, agent, owner, stranger):
    service = {"name": "agentWallet", "endpoint": f"{MAINNET}:{stranger.pubkey()}"}
    republish(file_of(agent, services=[service]))
    with Verifier({}, readers=[reader], wallet_services=True) as accepting:
        accepting.check_before_payment(info, MAINNET, str(stranger.pubkey()))
        assert code_of(accepting, info, owner.pubkey()) == "payment_address_mismatch"


def test_s19_file_is_loaded_by_the_uri_of_the_metadata_and_an_empty_one_is_not_loaded(verifier, own, republish):
    republish("")
    reason = verifier.verify(own).check(CheckName.REGISTRATION_FILE)
    assert (reason.outcome, reason.code) == (Outcome.UNCHECKED, "file_not_loaded")


def test_s19_file_that_nothing_authenticates_is_not_believed(verifier, own, republish):
    republish("http://agent.example/a.json")
    assert verifier.verify(own).outcome(CheckName.REGISTRATION_FILE) is not Outcome.PASSED


def test_s20_file_of_another_agent_or_registry_is_refused(verifier, own, republish, agent, stranger):
    entries = [
        {"agentId": str(stranger.pubkey()), "agentRegistry": f"{MAINNET}:{SATI}"},
        {"agentId": agent, "agentRegistry": f"{DEVNET}:{SATI}"},
        {"agentId": 1, "agentRegistry": f"{MAINNET}:{SATI}"},
    ]
    for entry in entries:
        republish(file_of(agent, registrations=[entry]))
        reason = verifier.verify(own).check(CheckName.REGISTRATION_FILE)
        assert (reason.outcome, reason.code) == (Outcome.FAILED, "agent_not_registered")


def test_s3_s20_file_may_name_the_chain_before_the_mint_and_the_result_remarks_it(verifier, own, republish, agent):
    entry = {"agentId": f"{MAINNET}:{agent}", "agentRegistry": f"{MAINNET}:{SATI}"}
    file = RegistrationFile.of({"type": "x", "registrations": [entry]})
    assert any("not just the mint address" in problem for problem in file.problems())
    republish(plain_file([entry], signer_entry(KEY)))
    verification = verifier.verify(own)
    assert verification.outcome(CheckName.REGISTRATION_FILE) is Outcome.PASSED
    assert any("not just the mint address" in remark for remark in verification.remarks)


def plain_file(registrations, *signers):
    """Write a file with a form that we do not write ourselves."""
    fields = {"name": "Weather", "description": "It forecasts", "image": "https://agent.example/i.png"}
    kind = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
    content = {"type": kind, **fields, "registrations": registrations, "signers": list(signers)}
    return DataUriStore().put(encode_object(content)).uri


@pytest.mark.parametrize("key", [KEY, Secp256k1Key(bytes(range(1, 33)))], ids=["ed25519", "secp256k1"])
def test_s21_keys_of_both_kinds_sign(verifier, sell, agent, owner, world, asset, enrich, rpc, republish, key):
    world.give(asset, owner.pubkey())
    republish(file_of(agent, signer_entry(key)))
    with sell(agent, str(owner.pubkey()), key=key) as (url, _):
        verification = verifier.verify(buy(url, enrich(), rpc))
    assert verification.signer.algorithm == key.algorithm
    assert verification.outcome(CheckName.SIGNATURE) is Outcome.PASSED


def test_s21_key_that_is_not_listed_fails(verifier, own, republish, agent):
    republish(file_of(agent, signer_entry(OTHER_KEY)))
    assert verifier.verify(own).outcome(CheckName.SIGNATURE) is Outcome.FAILED


def test_s21_wallet_may_sign_if_the_verifier_accepts_it(
    reader, sell, agent, owner, world, asset, enrich, rpc, republish
):
    world.give(asset, owner.pubkey())
    republish(plain_file([{"agentId": agent, "agentRegistry": f"{MAINNET}:{SATI}"}]))
    key = Ed25519Key(bytes(owner.secret()))
    with sell(agent, str(owner.pubkey()), key=key) as (url, _):
        paid = buy(url, enrich(), rpc)
    with Verifier({}, readers=[reader], allow_wallet_signer=True) as accepting:
        check = accepting.verify(paid)
        assert check.wallet_signer == str(owner.pubkey())
        assert check.outcome(CheckName.SIGNATURE) is Outcome.PASSED


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_both_faces_of_the_verifier_check_before_and_after_a_payment(rpc, bought, seller, selling_agent, face):
    info = declare_solana_reputation(selling_agent, MAINNET)["8004-reputation"]["info"]
    reader = SatiReader(rpc, MAINNET)
    if face == "blocking":
        with Verifier({}, readers=[reader]) as verifier:
            registration = verifier.check_before_payment(info, MAINNET, str(seller.pubkey()))
            verification = verifier.verify(bought)
    else:

        async def both():
            async with AsyncVerifier({}, readers=[reader]) as verifier:
                first = await verifier.check_before_payment(info, MAINNET, str(seller.pubkey()))
                return first, await verifier.verify(bought)

        registration, verification = asyncio.run(both())
    assert str(registration.agent) == f"{MAINNET}:{SATI}#{selling_agent}"
    assert verification.is_verified, verification.problems


def test_dead_node_leaves_the_chain_unchecked_and_everything_else_checked(verifier, bought, node):
    node.instead["status"] = 404
    verification = verifier.verify(bought)
    names = CheckName.PAYMENT, CheckName.PAY_TO, CheckName.REGISTRATION_FILE, CheckName.SIGNERS, CheckName.SIGNATURE
    assert_only(verification, *names, outcome=Outcome.UNCHECKED)


@pytest.mark.parametrize("plain", [True, False])
def test_s11_sold_agent_fails_after_a_payment_too(verifier, own, agent, owner, stranger, world, plain):
    world.transfer_agent(Pubkey.from_string(agent), owner, stranger, plain=plain)
    verification = verifier.verify(own)
    for name in (CheckName.PAY_TO, CheckName.REGISTRATION_FILE):
        assert (verification.outcome(name), verification.check(name).code) == (Outcome.FAILED, "authority_mismatch")


def test_x47_changed_body_of_an_answer_fails(verifier, bought):
    verification = verifier.verify(replace(bought, response=b"sun in Oslo"))
    failed = [check.name for check in verification.checks if check.outcome is Outcome.FAILED]
    assert failed == [CheckName.INTERACTION_HASH]
