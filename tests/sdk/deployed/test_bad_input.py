"""A deployment that does not fit the chain: the error names what was expected and what was found."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from eth_account import Account

from bilateral.core.errors import UnexpectedAnswerError, WrongIdentityRegistryError
from tests.sdk.client.helpers import deploy
from tests.sdk.deployed.world import CANONICAL, OWNER, REVIEWER

NOWHERE = Account.create().address


def test_an_address_without_code_is_named(canonical):
    for deployment, read, write in (
        (
            replace(CANONICAL, identity=NOWHERE),
            lambda client: client.get_agent_owner(0),
            lambda client: client.register_agent(),
        ),
        (
            replace(CANONICAL, reputation=NOWHERE),
            lambda client: client.read_all_feedback(0),
            lambda client: client.give_feedback(0, 1),
        ),
        (
            replace(CANONICAL, validation=NOWHERE),
            lambda client: client.get_validation_summary(0),
            lambda client: client.request_validation(0, OWNER.address, document=b"work"),
        ),
    ):
        client = canonical.connect(REVIEWER, deployment=deployment)
        for call in (read, write):
            with pytest.raises(UnexpectedAnswerError, match=f"there is no contract at {NOWHERE}, where .*Registry"):
                call(client)


def test_a_contract_that_is_another_is_named(canonical, web3):
    other = deploy(web3, ape.project.MockWallet, OWNER.address)
    client = canonical.connect(REVIEWER, deployment=replace(CANONICAL, identity=other))
    for call in (client.register_agent, lambda: client.get_metadata(0, "key")):
        with pytest.raises(UnexpectedAnswerError, match=f"another contract is at {other}, where IdentityRegistry"):
            call()
    client = canonical.connect(REVIEWER, deployment=replace(CANONICAL, reputation=other))
    with pytest.raises(UnexpectedAnswerError, match=f"another contract is at {other}, where ReputationRegistry"):
        client.give_feedback(0, 1)


def test_a_registry_of_another_identity_registry_is_named_before_anything_is_sent(canonical, web3):
    identity = deploy(web3, ape.project.IdentityRegistry)
    foreign = deploy(web3, ape.project.BidirectionalReputationRegistry, identity)
    client = canonical.connect(REVIEWER, deployment=replace(CANONICAL, reputation=foreign))
    before = web3.eth.get_transaction_count(REVIEWER.address)
    with pytest.raises(WrongIdentityRegistryError, match=f"belongs to the identity registry {identity}") as caught:
        client.give_feedback(0, 1)
    error = caught.value
    assert (error.registry, error.address) == ("reputation", foreign)
    assert (error.expected, error.found) == (CANONICAL.identity, identity)
    assert web3.eth.get_transaction_count(REVIEWER.address) == before


def test_an_inspection_reports_each_problem(canonical, web3):
    other = deploy(web3, ape.project.MockWallet, OWNER.address)
    identity = deploy(web3, ape.project.IdentityRegistry)
    foreign = deploy(web3, ape.project.ValidationRegistry, identity)
    deployment = replace(CANONICAL, identity=other, reputation=NOWHERE, validation=foreign)
    report = canonical.connect(deployment=deployment).inspect_deployment()
    assert report.problems == (
        f"another contract is at {other}: it has no getAgentWallet",
        f"there is no contract at {NOWHERE}",
        f"{foreign} belongs to the identity registry {identity}, not to {other}",
    )
    no_code = next(registry for registry in report.registries if registry.registry == "reputation")
    assert (no_code.has_code, no_code.version, no_code.owner, no_code.identity_registry) == (False, None, None, None)
