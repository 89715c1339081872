// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IdentityRegistry} from "../../contracts/identity/IdentityRegistry.sol";
import {Cheats} from "./Cheats.sol";

/// @title The identity registry, with a view of what the proofs are about
contract ObservedIdentityRegistry is IdentityRegistry {
    /// @notice The invariant: the account speaks as no agent, or as one that it owns or is the wallet of.
    /// @param account The account.
    /// @return holds Whether it holds of the account.
    function mayBeWhatItSpeaksAs(address account) external view returns (bool holds) {
        uint256 id = agentOf(account);
        return id == 0 || _ownerOf(id) == account || getAgentWallet(id) == account;
    }

    /// @notice What the registry keeps besides, and the proofs take for granted: ids have 64 bits at most, an agent
    /// that is not registered is a zero word, an owner has a balance.
    /// @param id The agent.
    /// @return sane Whether it holds of the agent.
    function isSane(uint256 id) external view returns (bool sane) {
        if (id > type(uint64).max) return false;
        address owner = _ownerOf(id);
        return owner == address(0) ? _token(id).ownership == 0 : uint32(_account(owner).word) != 0;
    }
}

/// @title Nobody speaks as an agent that it neither owns nor is the wallet of
/// @notice The invariant is that `agentOf(a) == id && id != 0` implies that `a` owns `id` or is its wallet. It holds of
/// the empty registry, where nobody speaks as any. Each proof shows of one function, for any storage, caller, arguments
/// and account, that it holds of the account after the call if it did before; that of `setPrimaryAgent` for the caller
/// alone. Registration, `updateAgent`, `setAgentWallet` and the transfers are not proved here: sequences of them are
/// tested against a model.
contract AgentOfProof is Cheats {
    ObservedIdentityRegistry private _registry;

    /// @dev Each proof assumes the invariant of `account`, calls the registry as `caller`, and asserts the invariant.
    modifier keepsInvariant(address account, address caller, uint256 id) {
        VM.assume(account != address(0));
        VM.assume(_registry.isSane(id));
        VM.assume(_registry.isSane(_registry.agentOf(account)));
        VM.assume(_registry.mayBeWhatItSpeaksAs(account));
        VM.prank(caller);
        _;
        assert(_registry.mayBeWhatItSpeaksAs(account));
    }

    function setUp() public {
        _registry = new ObservedIdentityRegistry();
        SVM.enableSymbolicStorage(address(_registry));
    }

    function check_setPrimaryAgentOfTheCaller(address caller, uint64 id) public keepsInvariant(caller, caller, id) {
        _registry.setPrimaryAgent(id);
    }

    function check_unsetAgentWallet(
        address account,
        address caller,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.unsetAgentWallet(id);
    }

    function check_approve(
        address account,
        address caller,
        address approved,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.approve(approved, id);
    }

    function check_setApprovalForAll(
        address account,
        address caller,
        address operator,
        bool isApproved
    ) public keepsInvariant(account, caller, 0) {
        _registry.setApprovalForAll(operator, isApproved);
    }

    function check_setAgentURI(address account, address caller, uint64 id) public keepsInvariant(account, caller, id) {
        _registry.setAgentURI(id, "ipfs://registration");
    }

    function check_setMetadata(
        address account,
        address caller,
        uint64 id,
        bytes32 value
    ) public keepsInvariant(account, caller, id) {
        _registry.setMetadata(id, "key", abi.encodePacked(value));
    }
}
