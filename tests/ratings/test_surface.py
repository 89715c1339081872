"""Functions and events of the bidirectional registry, compared with EIP-8004a and both of its bases."""

from __future__ import annotations

from tests.reputation import surface as january_2026
from tests.surface import events, functions

EIP_8004A_FUNCTIONS = {
    "rateClient(uint256,uint8)": "nonpayable",
    "rateValidator(uint256,uint8)": "nonpayable",
    "getClientRating(uint256,uint256)": "view returns (bool,uint8)",
    "getValidatorRating(uint256,uint256)": "view returns (bool,uint8)",
}

EIP_8004A_EVENTS = {
    "ClientRated(uint256 indexed clientId, uint256 indexed serverId, uint8 rating)",
    "ValidatorRated(uint256 indexed validatorId, uint256 indexed serverId, uint8 rating)",
}

AUGUST_2025_FUNCTIONS = {
    "acceptFeedback(uint256,uint256)": "nonpayable",
    "isFeedbackAuthorized(uint256,uint256)": "view returns (bool,bytes32)",
    "getFeedbackAuthId(uint256,uint256)": "view returns (bytes32)",
}
"""The base that EIP-8004a extends."""

AUGUST_2025_EVENTS = {
    "AuthFeedback(uint256 indexed agentClientId, uint256 indexed agentServerId, bytes32 indexed feedbackAuthId)",
}

AUGUST_2025_ERRORS = {
    "AgentNotFound()",
    "UnauthorizedFeedback()",
    "SelfFeedbackNotAllowed()",
    "FeedbackAlreadyAuthorized()",
}

OWN_FUNCTIONS = {
    "rateClients(uint256[],uint8[])": "nonpayable",
    "rateValidators(uint256[],uint8[])": "nonpayable",
    "rateClientAs(uint256,uint8,uint256,address)": "nonpayable",
    "rateValidatorAs(uint256,uint8,uint256,address)": "nonpayable",
    "rateClientsAs(uint256[],uint8[],uint256,address[])": "nonpayable",
    "rateValidatorsAs(uint256[],uint8[],uint256,address[])": "nonpayable",
    "getClientRatings(uint256[],uint256)": "view returns (bool[],uint8[])",
}

_PAIR = "(bytes32,uint256,address,uint256,address,bytes32,uint256,bytes32,uint256)"
_FEEDBACK = "(int128,uint8,string,string,string,string,bytes32)"

BLIND_FUNCTIONS = {
    f"seal({_PAIR},bytes,bytes)": "nonpayable",
    f"open({_PAIR},{_FEEDBACK},bytes32,uint8,bytes32)": "nonpayable",
    f"openFeedback({_PAIR},{_FEEDBACK},bytes32)": "nonpayable",
    f"openRating({_PAIR},uint8,bytes32)": "nonpayable",
    f"exchange({_PAIR},bytes,bytes,{_FEEDBACK},bytes32,uint8,bytes32)": "nonpayable",
    "ratingStateOf(uint256,uint256)": "view returns (uint8)",
    "getSealedPair(uint256,uint256)": "view returns (uint256,bool)",
}

BLIND_EVENTS = {
    "RatingsSealed(uint256 indexed clientId, uint256 indexed serverId, bytes32 indexed interaction)",
    "RatingsOpened(uint256 indexed clientId, uint256 indexed serverId, bytes32 indexed interaction, "
    "address client, uint64 feedbackIndex)",
}


def test_functions_and_events_of_the_eip_are_there(registry):
    assert functions(registry).items() >= EIP_8004A_FUNCTIONS.items()
    assert events(registry) >= EIP_8004A_EVENTS


def test_functions_events_and_errors_of_august_2025_are_there(registry):
    assert functions(registry).items() >= AUGUST_2025_FUNCTIONS.items()
    assert events(registry) >= AUGUST_2025_EVENTS
    assert {error.selector for error in registry.contract_type.errors} >= AUGUST_2025_ERRORS


def test_functions_and_events_of_january_2026_are_there(registry):
    assert functions(registry).items() >= january_2026.FUNCTIONS.items()
    assert events(registry) >= january_2026.EVENTS


def test_there_are_no_other_functions_and_events(registry):
    known = EIP_8004A_FUNCTIONS | AUGUST_2025_FUNCTIONS | january_2026.FUNCTIONS | OWN_FUNCTIONS | BLIND_FUNCTIONS
    assert functions(registry).keys() == known.keys()
    assert events(registry) == EIP_8004A_EVENTS | AUGUST_2025_EVENTS | january_2026.EVENTS | BLIND_EVENTS


def test_batches_are_called_as_documented(registry):
    assert functions(registry).items() >= OWN_FUNCTIONS.items()


def test_blind_ratings_are_called_as_documented(registry):
    assert functions(registry).items() >= BLIND_FUNCTIONS.items()
    assert events(registry) >= BLIND_EVENTS


def test_code_of_the_registry_stays_below_its_own_limit(project):
    """EIP-170 allows 24,576 bytes. The rest is room for the next compiler, which may need more."""
    code = project.BidirectionalReputationRegistry.contract_type.runtime_bytecode.bytecode
    assert len(bytes.fromhex(code.removeprefix("0x"))) < 23_500
