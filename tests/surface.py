"""The functions and events of a contract's ABI, in a form that tests compare with typed text."""

from __future__ import annotations


def functions(contract):
    """Return all functions: `{"getSummary(uint256)": "view returns (uint64,uint8)"}`."""
    return {
        function.selector: function.stateMutability + _returns(function)
        for function in contract.contract_type.abi
        if function.type == "function"
    }


def events(contract):
    """Return all events, with the names of their fields and `indexed`: `Registered(uint256 indexed agentId, …)`."""
    return {event.signature for event in contract.contract_type.events}


def _returns(function):
    types = ",".join(output.canonical_type for output in function.outputs)
    return f" returns ({types})" if types else ""
