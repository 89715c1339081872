"""The registries' functions, and the methods of the model that stand for them."""

from __future__ import annotations

_FEEDBACK = "(uint256,uint64,int128,uint8,string,string,string,string,bytes32)"

_IDENTITY = {
    "register()": "identity.register",
    "register(string)": "identity.register",
    "register(string,(string,bytes)[])": "identity.register",
    "newAgent(string,address)": "identity.new_agent",
    "updateAgent(uint256,string,address)": "identity.update_agent",
    "transferFrom(address,address,uint256)": "identity.transfer",
    "safeTransferFrom(address,address,uint256)": "identity.transfer",
    "approve(address,uint256)": "identity.approve",
    "setApprovalForAll(address,bool)": "identity.set_approval_for_all",
    "setAgentURI(uint256,string)": "identity.set_uri",
    "setMetadata(uint256,string,bytes)": "identity.set_metadata",
    "setAgentWallet(uint256,address,uint256,bytes)": "identity.set_wallet",
    "unsetAgentWallet(uint256)": "identity.unset_wallet",
    "setPrimaryAgent(uint256)": "identity.set_primary",
}

_OPEN = {
    "giveFeedback(uint256,int128,uint8,string,string,string,string,bytes32)": "give",
    f"giveFeedbackBySig(address,{_FEEDBACK},uint256,bytes)": "give_by_sig",
    "revokeFeedback(uint256,uint64)": "revoke",
    "appendResponse(uint256,address,uint64,string,bytes32)": "respond",
}

_RATINGS = {
    "rateClient(uint256,uint8)": "ratings.rate_client",
    "rateValidator(uint256,uint8)": "ratings.rate_validator",
    "rateClients(uint256[],uint8[])": "ratings.rate_clients",
    "rateValidators(uint256[],uint8[])": "ratings.rate_validators",
    "acceptFeedback(uint256,uint256)": "ratings.accept_feedback",
}

_AUTHORISED = {"giveFeedback(uint256,uint8,bytes32,bytes32,string,bytes32,bytes)": "authorised.give"}

_VALIDATION = {
    "validationRequest(address,uint256,string,bytes32)": "validation.request",
    "validationResponse(bytes32,uint8,string,bytes32,string)": "validation.respond",
}

FUNCTIONS = {
    "identity": _IDENTITY,
    "open": {signature: f"open.{method}" for signature, method in _OPEN.items()} | _RATINGS,
    "plain": {signature: f"plain.{method}" for signature, method in _OPEN.items()},
    "authorised": _AUTHORISED,
    "validation": _VALIDATION,
}
"""By registry and signature, where the model's method is."""


def signature_of(registry, name):
    """A function's signature by its name, or by itself where there are overloads and for views."""
    if name.endswith(")"):
        return name
    signatures = [each for each in FUNCTIONS[registry] if name == each.partition("(")[0]]
    (signature,) = signatures
    return signature
