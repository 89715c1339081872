"""The registry contracts: their ABIs, deployments, calls, reverts and logs."""

from bilateral.core.contracts.abi import Registry, abi, selectors
from bilateral.core.contracts.deployments import (
    REGISTRY_ATTRIBUTES,
    Deployment,
    attribute_of,
    has_private_mempool,
    max_fees_of,
    network_of,
    packaged_deployment,
)

__all__ = ["REGISTRY_ATTRIBUTES", "Deployment", "Registry", "abi", "attribute_of", "has_private_mempool"]
__all__ += ["max_fees_of", "network_of", "packaged_deployment", "selectors"]
