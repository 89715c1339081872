"""What a contract's ABI says of its functions and events, in a form that tests compare with typed-in text."""

from __future__ import annotations


def functions(contract):
    """All functions: `{"getSummary(uint256)": "view returns (uint64,uint8)"}`."""
    return {
        function.selector: function.stateMutability + _returns(function)
        for function in contract.contract_type.abi
        if function.type == "function"
    }


def events(contract):
    """All events, with the names of their fields and what is indexed: `Registered(uint256 indexed agentId, …)`."""
    return {event.signature for event in contract.contract_type.events}


def _returns(function):
    types = ",".join(output.canonical_type for output in function.outputs)
    return f" returns ({types})" if types else ""
