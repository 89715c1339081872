"""The system-wide test leaves out no function, view or refusal of any registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.system.functions import FUNCTIONS
from tests.system.questions import Questions
from tests.system.rpc_chain import REGISTRIES

REASONS = Path(__file__).parents[2] / "contracts/libraries/RevertReasons.sol"

_COMPILED_IN = "is compiled in"

NOT_ASKED = {
    "MAX_DEADLINE_DELAY()": _COMPILED_IN,
    "MAX_SCORE()": _COMPILED_IN,
    "getIdentityRegistry()": _COMPILED_IN,
    "supportsInterface(bytes4)": _COMPILED_IN,
    "eip712Domain()": "tells of the chain and the address alone",
    "hashFeedbackAuth((uint256,address,uint64,uint256,uint256))": "tells of its arguments and the domain alone",
}
"""The views that the test does not ask, with the reason why no call can change their answer."""

PLAYED_ELSEWHERE = {"seal", "open", "openFeedback", "openRating", "exchange", "ratingStateOf", "getSealedPair"}
"""The functions of blind ratings, which tests/ratings/blind/test_sequences.py plays."""

_BLIND = "is of blind ratings, which tests/ratings/blind/test_sequences.py plays"
_INHERITED = "is declared by a base contract, whose place another error takes"
_OF_A_VIEW = "is a view's, and among the expected answers"

NOT_PROVOKED = {
    "EnvelopeExpired": _BLIND,
    "SealMismatch": _BLIND,
    "UnexpectedClient": _BLIND,
    "UnknownPair": _BLIND,
    "AccountBalanceOverflow": "takes 2^32 agents of one account",
    "TagsExhausted": "takes 2^40 tags",
    "TooMuchFeedback": "takes 2^32 feedbacks of one client for one agent",
    "SafeCastOverflowedUintDowncast": "takes 2^64 agents",
    "bad identity": "is a constructor's",
    "ERC721InvalidOwner": _OF_A_VIEW,
    "PositionOutOfBounds": _OF_A_VIEW,
    "clientAddresses required": _OF_A_VIEW,
    "BalanceQueryForZeroAddress": _INHERITED,
    "ERC721InvalidSender": _INHERITED,
    "NotOwnerNorApproved": _INHERITED,
    "TokenAlreadyExists": _INHERITED,
    "TokenDoesNotExist": _INHERITED,
    "TransferFromIncorrectOwner": _INHERITED,
    "TransferToNonERC721ReceiverImplementer": _INHERITED,
    "TransferToZeroAddress": _INHERITED,
}
"""The errors and reason texts that no call provokes, with the reason."""


@pytest.fixture
def abi(project):
    """Returns the declarations of a registry of one kind, by signature."""

    def declared(registry, kind):
        entries = project.get_contract(REGISTRIES[registry]).contract_type.abi
        return {entry.selector: entry for entry in entries if entry.type == kind}

    return declared


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_function_that_writes_is_played(abi, registry):
    functions = abi(registry, "function")
    writes = {
        signature for signature, entry in functions.items() if entry.is_stateful and entry.name not in PLAYED_ELSEWHERE
    }
    assert FUNCTIONS[registry].keys() == writes


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_view_is_asked(abi, world, registry):
    asked = getattr(Questions(world.model, world.chain.addresses, world.everybody), registry)()
    functions = abi(registry, "function")
    views = {
        signature
        for signature, entry in functions.items()
        if entry.stateMutability == "view" and entry.name not in PLAYED_ELSEWHERE
    }
    assert {signature for signature, *_ in asked} == views - NOT_ASKED.keys()


def test_every_refusal_is_demanded(abi):
    unlisted = set(re.findall(r' = "(.+)";', REASONS.read_text()))
    for registry in REGISTRIES:
        unlisted |= {error.name for error in abi(registry, "error").values()}
    for functions in FUNCTIONS.values():
        for function in functions.values():
            unlisted -= {rule.partition(": ")[0] for rule in function.refusals}
    unlisted.remove("EtherNotAccepted")
    assert unlisted == NOT_PROVOKED.keys()
