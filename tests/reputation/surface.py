"""The surface of the open reputation registry, copied by hand from ERC-8004, as existing clients use it."""

from __future__ import annotations

ERC_8004_FUNCTIONS = {
    "giveFeedback(uint256,int128,uint8,string,string,string,string,bytes32)": "nonpayable",
    "revokeFeedback(uint256,uint64)": "nonpayable",
    "appendResponse(uint256,address,uint64,string,bytes32)": "nonpayable",
    "getSummary(uint256,address[],string,string)": "view returns (uint64,int128,uint8)",
    "readFeedback(uint256,address,uint64)": "view returns (int128,uint8,string,string,bool)",
    "readAllFeedback(uint256,address[],string,string,bool)": (
        "view returns (address[],uint64[],int128[],uint8[],string[],string[],bool[])"
    ),
    "getResponseCount(uint256,address,uint64,address[])": "view returns (uint64)",
    "getClients(uint256)": "view returns (address[])",
    "getLastIndex(uint256,address)": "view returns (uint64)",
    "getVersion()": "pure returns (string)",
}

OWN_FUNCTIONS = {
    "giveFeedbackBySig(address,(uint256,uint64,int128,uint8,string,string,string,string,bytes32),uint256,bytes)": (
        "nonpayable"
    ),
    "voidSignaturesThrough(uint256)": "nonpayable",
    "getVoidedDeadline(address)": "view returns (uint256)",
}
"""The other functions of `IReputationRegistry`."""

INHERITED_FUNCTIONS = {
    "getIdentityRegistry()": "view returns (address)",
    "supportsInterface(bytes4)": "view returns (bool)",
    "eip712Domain()": "view returns (bytes1,string,string,uint256,address,bytes32,uint256[])",
}

FUNCTIONS = ERC_8004_FUNCTIONS | OWN_FUNCTIONS | INHERITED_FUNCTIONS

EVENTS = {
    "NewFeedback(uint256 indexed agentId, address indexed clientAddress, uint64 feedbackIndex, int128 value, "
    "uint8 valueDecimals, string indexed indexedTag1, string tag1, string tag2, string endpoint, string feedbackURI, "
    "bytes32 feedbackHash)",
    "FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex)",
    "ResponseAppended(uint256 indexed agentId, address indexed clientAddress, uint64 feedbackIndex, "
    "address indexed responder, string responseURI, bytes32 responseHash)",
    "SignaturesVoided(address indexed clientAddress, uint256 deadline)",
}
