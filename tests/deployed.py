"""Stand-ins for the deployed ERC-8004 registries, for tests."""

from scripts._stand_ins import IMPLEMENTATION_SLOT, deploy_behind_proxy, implementation_of

__all__ = ["IMPLEMENTATION_SLOT", "deploy_behind_proxy", "implementation_of"]
