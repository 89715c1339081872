"""The ABI of the identity registry, typed from the standards. Existing clients were compiled against it."""

from __future__ import annotations

IDENTITY_REGISTRY_FUNCTIONS = {
    "register()": "nonpayable returns (uint256)",
    "register(string)": "nonpayable returns (uint256)",
    "register(string,(string,bytes)[])": "nonpayable returns (uint256)",
    "setAgentURI(uint256,string)": "nonpayable",
    "getMetadata(uint256,string)": "view returns (bytes)",
    "setMetadata(uint256,string,bytes)": "nonpayable",
    "getAgentWallet(uint256)": "view returns (address)",
    "setAgentWallet(uint256,address,uint256,bytes)": "nonpayable",
    "unsetAgentWallet(uint256)": "nonpayable",
    "isAuthorizedOrOwner(address,uint256)": "view returns (bool)",
    "getVersion()": "pure returns (string)",
}

AGENT_DIRECTORY_FUNCTIONS = {
    "newAgent(string,address)": "nonpayable returns (uint256)",
    "updateAgent(uint256,string,address)": "nonpayable returns (bool)",
    "releaseAgentDomain(uint256)": "nonpayable",
    "getAgent(uint256)": "view returns ((uint256,string,address))",
    "resolveByDomain(string)": "view returns ((uint256,string,address))",
    "resolveByAddress(address)": "view returns ((uint256,string,address))",
    "agentExists(uint256)": "view returns (bool)",
    "getAgentCount()": "view returns (uint256)",
    "agentOf(address)": "view returns (uint256)",
    "setPrimaryAgent(uint256)": "nonpayable",
    "resolveRating(address,uint256)": "view returns (uint256,bool)",
}

TOKEN_FUNCTIONS = {
    "name()": "pure returns (string)",
    "symbol()": "pure returns (string)",
    "tokenURI(uint256)": "view returns (string)",
    "balanceOf(address)": "view returns (uint256)",
    "ownerOf(uint256)": "view returns (address)",
    "safeTransferFrom(address,address,uint256)": "payable",
    "safeTransferFrom(address,address,uint256,bytes)": "payable",
    "transferFrom(address,address,uint256)": "payable",
    "approve(address,uint256)": "payable",
    "setApprovalForAll(address,bool)": "nonpayable",
    "getApproved(uint256)": "view returns (address)",
    "isApprovedForAll(address,address)": "view returns (bool)",
    "supportsInterface(bytes4)": "view returns (bool)",
    "eip712Domain()": "view returns (bytes1,string,string,uint256,address,bytes32,uint256[])",
}
"""Functions of ERC-721, ERC-165 and ERC-5267. ERC-721 declares transfers and approvals payable."""

CONSTANTS = {"MAX_DEADLINE_DELAY()": "view returns (uint256)"}

EVENTS = {
    "Registered(uint256 indexed agentId, string agentURI, address indexed owner)",
    "MetadataSet(uint256 indexed agentId, string indexed indexedMetadataKey, string metadataKey, bytes metadataValue)",
    "URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy)",
    "MetadataUpdate(uint256 _tokenId)",
    "Transfer(address indexed from, address indexed to, uint256 indexed id)",
    "Approval(address indexed owner, address indexed account, uint256 indexed id)",
    "ApprovalForAll(address indexed owner, address indexed operator, bool isApproved)",
    "AgentRegistered(uint256 indexed agentId, string agentDomain, address agentAddress)",
    "AgentUpdated(uint256 indexed agentId, string agentDomain, address agentAddress)",
    "PrimaryAgentSet(address indexed account, uint256 indexed agentId)",
}
