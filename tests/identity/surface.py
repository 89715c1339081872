"""The identity registry's surface, typed in from the standards: existing clients were compiled against it."""

from __future__ import annotations

IDENTITY_REGISTRY_FUNCTIONS = [
    "register()",
    "register(string)",
    "register(string,(string,bytes)[])",
    "setAgentURI(uint256,string)",
    "getMetadata(uint256,string)",
    "setMetadata(uint256,string,bytes)",
    "getAgentWallet(uint256)",
    "setAgentWallet(uint256,address,uint256,bytes)",
    "unsetAgentWallet(uint256)",
    "isAuthorizedOrOwner(address,uint256)",
    "getVersion()",
]

AGENT_DIRECTORY_FUNCTIONS = [
    "newAgent(string,address)",
    "updateAgent(uint256,string,address)",
    "getAgent(uint256)",
    "resolveByDomain(string)",
    "resolveByAddress(address)",
    "agentExists(uint256)",
    "getAgentCount()",
    "agentOf(address)",
    "setPrimaryAgent(uint256)",
    "resolveRating(address,uint256)",
]

TOKEN_FUNCTIONS = [
    "name()",
    "symbol()",
    "tokenURI(uint256)",
    "balanceOf(address)",
    "ownerOf(uint256)",
    "safeTransferFrom(address,address,uint256)",
    "safeTransferFrom(address,address,uint256,bytes)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "setApprovalForAll(address,bool)",
    "getApproved(uint256)",
    "isApprovedForAll(address,address)",
    "supportsInterface(bytes4)",
    "eip712Domain()",
]

EVENTS = [
    "Registered(uint256 indexed,string,address indexed)",
    "MetadataSet(uint256 indexed,string indexed,string,bytes)",
    "URIUpdated(uint256 indexed,string,address indexed)",
    "MetadataUpdate(uint256)",
    "Transfer(address indexed,address indexed,uint256 indexed)",
    "Approval(address indexed,address indexed,uint256 indexed)",
    "ApprovalForAll(address indexed,address indexed,bool)",
    "AgentRegistered(uint256 indexed,string,address)",
    "AgentUpdated(uint256 indexed,string,address)",
    "PrimaryAgentSet(address indexed,uint256 indexed)",
]
