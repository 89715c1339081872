"""A decoded revert of a registry: the error, its arguments, a reason for machines, and advice."""

from __future__ import annotations

import re
from pathlib import Path

import ape
import pytest
from eth_abi import encode
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.codec import _ADVICE, _TEXTS, decode_revert
from tests.sdk.strategies import EVM_ADDRESS

ROOT = Path(__file__).parents[2]


def revert(signature, *arguments):
    types = re.search(r"\((.*)\)", signature)[1]
    return keccak(text=signature)[:4] + encode(types.split(",") if types else [], arguments)


def test_an_error_is_decoded_with_its_arguments():
    error = decode_revert(revert("SignerNotOwner(address,address)", EVM_ADDRESS.lower(), "0x" + "11" * 20))
    assert error.error == "SignerNotOwner"
    assert error.arguments == {"signer": EVM_ADDRESS, "owner": "0x" + "11" * 20}
    assert error.reason == "signer_not_owner"
    assert str(error) == (
        f"the registry rejected the call: SignerNotOwner(signer={EVM_ADDRESS}, owner=0x{'11' * 20}). "
        "Have the agent's current owner sign it for this registry on this chain."
    )


def test_a_text_is_decoded_with_its_reason():
    error = decode_revert(revert("Error(string)", "Self-feedback not allowed"))
    assert (error.error, error.reason, error.arguments) == ("Self-feedback not allowed", "self_feedback", {})
    assert str(error).endswith("Rate from an account that is neither owner nor operator.")


def test_a_panic_is_decoded():
    error = decode_revert(revert("Panic(uint256)", 17))
    assert (error.error, error.reason, error.arguments) == ("Panic", "panic", {"code": 17})


def test_errors_of_one_name_are_told_apart_by_their_arguments():
    assert decode_revert(revert("SelfFeedbackNotAllowed()")).arguments == {}
    two = decode_revert(revert("SelfFeedbackNotAllowed(uint256,address)", 7, EVM_ADDRESS))
    assert two.arguments == {"agentId": 7, "clientAddress": EVM_ADDRESS}
    assert two.reason == "self_feedback_not_allowed"


def test_a_refused_batch_has_the_reason_and_advice_of_its_rating():
    inner = revert("AlreadyRated(uint256,uint256)", 7, 1)
    error = decode_revert(revert("RatingRefused(uint256,bytes)", 3, inner))
    assert error.arguments == {"position": 3, "reason": inner}
    assert (error.__cause__.reason, error.__cause__.arguments) == ("already_rated", {"subjectId": 7, "serverId": 1})
    assert error.advice == (
        "Remove that rating from the batch: the registry rejected the call: AlreadyRated(subjectId=7, serverId=1). "
        "Ratings are final: read the existing one."
    )


def test_refusals_within_refusals_are_not_followed():
    data = b""
    for _ in range(50):
        data = revert("RatingRefused(uint256,bytes)", 0, data)
    assert decode_revert(data).advice == "Remove that rating from the batch."


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08\xc3",
        b"\x08\xc3\x79\xa0",
        revert("Error(string)", "x")[:-1] + b"\xff" * 3,
        b"\x08\xc3\x79\xa0" + b"\xff" * 64,
        b"\x4e\x48\x7b\x71" + b"\x01",
        revert("SignerNotOwner(address,address)", EVM_ADDRESS, EVM_ADDRESS)[:-1],
        revert("SignerNotOwner(address,address)", EVM_ADDRESS, EVM_ADDRESS).replace(bytes(12), b"\xff" * 12),
        b"\x12\x34\x56\x78",
    ],
)
def test_data_of_no_known_error_is_kept(data):
    error = decode_revert(data)
    assert error.data == data
    assert error.reason == "reverted"


@given(st.binary(max_size=100), st.sampled_from([b"", b"\x08\xc3\x79\xa0", *selectors(Registry.AUTHORIZED, "error")]))
def test_no_data_breaks_the_decoder(data, selector):
    assert str(decode_revert(selector + data)).isprintable()


def test_a_hostile_text_is_shown_harmlessly():
    error = decode_revert(revert("Error(string)", "\x1b[2J\u202e" + "x" * 10_000))
    assert str(error).isprintable()
    assert len(str(error)) < 300


@pytest.mark.parametrize("registry", Registry)
def test_every_error_of_every_registry_has_advice(registry):
    declared = {entry["name"] for entry in selectors(registry, "error").values()}
    assert declared <= set(_ADVICE)


def test_there_is_no_advice_about_errors_that_do_not_exist():
    declared = {entry["name"] for registry in Registry for entry in selectors(registry, "error").values()}
    assert set(_ADVICE) == declared


def test_every_text_of_the_registries_has_a_reason_and_advice():
    source = (ROOT / "contracts" / "libraries" / "RevertReasons.sol").read_text()
    assert set(_TEXTS) == set(re.findall(r'constant \w+ =\s+"([^"]+)"', source))
    reasons = [reason for reason, _ in _TEXTS.values()]
    assert len(set(reasons)) == len(reasons)


def test_a_real_revert_of_a_registry_is_decoded(identity, stranger, owner):
    identity.register(sender=owner)
    with ape.reverts("Not authorized"):
        identity.setAgentURI(1, "data:,", sender=stranger)
    node = ape.chain.provider
    for call, reason in [
        (identity.setAgentURI.encode_input(1, "data:,"), "not_authorized"),
        (identity.ownerOf.encode_input(99), "erc721_nonexistent_token"),
        (identity.newAgent.encode_input("a.example", owner.address), "unauthorized_registration"),
    ]:
        answer = node._web3.provider.make_request(
            "eth_call", [{"from": stranger.address, "to": identity.address, "data": "0x" + call.hex()}, "latest"]
        )
        assert decode_revert(bytes.fromhex(answer["error"]["data"][2:])).reason == reason
