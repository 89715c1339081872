"""The facts with which a page checks what the service asks a wallet to sign: contracts, functions, messages."""

from collections.abc import Mapping
from typing import Any, Final

from bilateral.api.file_store import KeptFile
from bilateral.buyers.messages import AgentReview
from bilateral.core.contracts import Deployment, Registry, abi, attribute_of, packaged_deployment
from bilateral.core.contracts.abi import selector_of
from bilateral.core.contracts.deployments import REGISTRY_ATTRIBUTES
from bilateral.core.contracts.origin import Origin
from bilateral.core.identifiers import AccountId, ChainId
from bilateral.core.signatures import AgentWalletSet, Domain, Feedback, FeedbackAuth
from bilateral.core.signatures.messages import TypedMessage
from bilateral.index.reading.registries import Registries

_Function = tuple[Registry, str, int]
"""A registry, and one of its functions by name and number of arguments."""

_OWNER: Final = (Registry.IDENTITY, "ownerOf", 1)
_WALLET: Final = (Registry.IDENTITY, "getAgentWallet", 1)
_DIRECTORIES: Final = (Registry.COMPANION, Registry.IDENTITY)

_CALLS: Final[Mapping[str, tuple[_Function, ...]]] = {
    "register_agent": ((Registry.IDENTITY, "register", 1),),
    "edit_registration": ((Registry.IDENTITY, "setAgentURI", 2),),
    "set_agent_wallet": ((Registry.IDENTITY, "setAgentWallet", 4),),
    "set_primary_agent": tuple((directory, "setPrimaryAgent", 1) for directory in _DIRECTORIES),
    "give_feedback": ((Registry.REPUTATION, "giveFeedback", 8),),
    "revoke_feedback": ((Registry.REPUTATION, "revokeFeedback", 2),),
    "append_response": ((Registry.REPUTATION, "appendResponse", 5),),
    "rate_client": ((Registry.BIDIRECTIONAL, "rateClientAs", 4), (Registry.BIDIRECTIONAL, "rateClient", 2)),
    "rate_validator": ((Registry.BIDIRECTIONAL, "rateValidatorAs", 4), (Registry.BIDIRECTIONAL, "rateValidator", 2)),
    "respond_to_validation": ((Registry.VALIDATION, "validationResponse", 5),),
}
"""The functions that each action may call."""

_MESSAGES: Final[Mapping[str, tuple[type[TypedMessage], Registry]]] = {
    "register_agent": (KeptFile, Registry.IDENTITY),
    "edit_registration": (KeptFile, Registry.IDENTITY),
    "set_agent_wallet": (AgentWalletSet, Registry.IDENTITY),
    "sponsored_feedback": (Feedback, Registry.REPUTATION),
    "authorize_feedback": (FeedbackAuth, Registry.AUTHORIZED),
    "publish_review": (AgentReview, Registry.IDENTITY),
}
"""The typed message for each action that has one, and the registry in its domain."""

_READS: Final[Mapping[str, tuple[_Function, ...]]] = {
    "edit_registration": ((Registry.IDENTITY, "tokenURI", 1),),
    "set_agent_wallet": (_OWNER,),
    "give_feedback": (_OWNER, _WALLET),
    "sponsored_feedback": (_OWNER, _WALLET, (Registry.REPUTATION, "getLastIndex", 2)),
    "rate_client": (_OWNER, *((directory, "agentOf", 1) for directory in _DIRECTORIES)),
    "rate_validator": (_OWNER, *((directory, "agentOf", 1) for directory in _DIRECTORIES)),
    "authorize_feedback": ((Registry.AUTHORIZED, "getLastIndex", 2),),
}
"""The view functions that the page calls on the wallet's own node, to compare their results with the service's."""


def signing_facts(deployment: Deployment, action: str) -> dict[str, Any]:
    """Return what an action may ask a wallet to sign, as JSON for the page's script."""
    message = _MESSAGES.get(action)
    return {
        "chain": deployment.chain_id,
        "identity": deployment.identity,
        "agentRegistry": str(AccountId(ChainId.evm(deployment.chain_id), str(deployment.identity))),
        "registries": {
            address: f"{name.replace('_', ' ')} registry"
            for name in reversed(REGISTRY_ATTRIBUTES)  # `reputation` and `ratings` may be the same contract
            if (address := getattr(deployment, name)) is not None
        },
        "calls": _functions(deployment, _CALLS.get(action, ())),
        "reads": _functions(deployment, _READS.get(action, ())),
        "message": None if message is None else _described(deployment, *message),
    }


def _functions(deployment: Deployment, functions: tuple[_Function, ...]) -> list[dict[str, Any]]:
    """Return the functions of the deployment's registries. The agent directory may be either of two contracts."""
    described = []
    for registry, name, count in functions:
        address = getattr(deployment, attribute_of(registry))
        is_other_directory = registry in _DIRECTORIES and name in {"agentOf", "setPrimaryAgent"}
        if address is None or (is_other_directory and registry is not deployment.directory_registry):
            continue
        entry = next(
            entry
            for entry in abi(registry)
            if entry["type"] == "function" and entry["name"] == name and len(entry["inputs"]) == count
        )
        described.append(
            {
                "name": name,
                "to": address,
                "selector": f"0x{selector_of(entry)[:4].hex()}",
                "inputs": [{"name": part["name"], "type": part["type"]} for part in entry["inputs"]],
                "outputs": [{"name": part["name"], "type": part["type"]} for part in entry["outputs"]],
            }
        )
    return described


def _described(deployment: Deployment, kind: type[TypedMessage], registry: Registry) -> dict[str, Any] | None:
    """Return a message's domain, primary type and types; None if the deployment lacks its registry."""
    address = getattr(deployment, attribute_of(registry))
    return None if address is None else kind.described(Domain(deployment.chain_id, address))


def indexed_deployment(registries: Registries, chain_id: int) -> Deployment:
    """Return the deployment on an indexed chain: the packaged deployment, or else the indexed registries."""
    identity = registries.identity_of(chain_id)
    for origin in Origin:
        packaged = packaged_deployment(chain_id, origin)
        if packaged is not None and packaged.identity == identity:
            return packaged
    places: dict[str, Any] = {}
    for registry in registries.by_chain[chain_id]:
        if registry.identity_registry == identity and registry.kind in set(Registry):
            places[attribute_of(Registry(registry.kind))] = registry.address
    if "ratings" in places:
        places["reputation"] = places["ratings"]
    return Deployment(chain_id, **{"ratings": None, **places, "identity": identity})
