// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityRegistry} from "../../contracts/identity/IdentityRegistry.sol";
import {Branchless} from "./Proof.sol";

/// @title Identity registry with views of the invariants
/// @notice The views have no branches, because each branch would double the prover's paths.
contract ObservedIdentityRegistry is IdentityRegistry, Branchless {
    /// @dev The slots of `_wallets` and `_nextAgentId`.
    uint256 private constant WALLETS_SLOT = 5;
    uint256 private constant NEXT_AGENT_ID_SLOT = 2;

    /// @notice Returns true if the account has no primary agent, or owns it, or is its wallet.
    /// @param account The account.
    /// @return holds True if the invariant holds for the account.
    function speaksRightly(address account) external view returns (bool holds) {
        uint256 id = agentOf(account);
        return _or(_or(id == 0, _ownerOf(id) == account), walletOf(id) == account);
    }

    /// @notice Returns true if the registered agents have the ids from 1 to their number, other ids have no data, and
    /// only agents with an explicit wallet have a stored wallet.
    /// @param id An agent, registered or not.
    /// @return holds True if the invariant holds for the agent.
    function isStoredRightly(uint256 id) external view returns (bool holds) {
        bool isGiven = _and(id != 0, id < nextAgentId());
        uint256 ownership = ownershipOf(id);
        bool isFree = _or(isGiven, ownership == 0);
        bool hidesNoWallet = _or(ownership & EXPLICIT_WALLET != 0, _explicitWallet(id) == 0);
        return _and(_and((uint160(ownership) != 0) == isGiven, isFree), hidesNoWallet);
    }

    /// @notice Returns true if the balance of an agent's owner is above zero.
    /// @param id The agent.
    /// @return holds True if the invariant holds for the agent; true for an agent without an owner.
    function isCounted(uint256 id) external view returns (bool holds) {
        address owner = _ownerOf(id);
        return _or(owner == address(0), tokensOf(owner) != 0);
    }

    /// @notice Returns the owner of an agent, or zero for an unknown agent: `ownerOf` without the revert.
    /// @param id The agent.
    /// @return owner The owner.
    function ownerOrZero(uint256 id) external view returns (address owner) {
        return _ownerOf(id);
    }

    /// @notice Returns the id of the next agent.
    /// @return id The id.
    function nextAgentId() public view returns (uint256 id) {
        assembly ("memory-safe") {
            id := sload(NEXT_AGENT_ID_SLOT)
        }
    }

    /// @notice Returns the same as `getAgentWallet`.
    /// @param id The agent.
    /// @return wallet The wallet.
    function walletOf(uint256 id) public view returns (address wallet) {
        uint256 ownership = ownershipOf(id);
        return address(uint160(_select(ownership & EXPLICIT_WALLET != 0, _explicitWallet(id), ownership)));
    }

    /// @notice Returns the word with the owner of an agent and the bit `EXPLICIT_WALLET`.
    /// @param id The agent.
    /// @return word The word.
    function ownershipOf(uint256 id) public view returns (uint256 word) {
        return _token(id).ownership;
    }

    /// @notice Returns the same as `balanceOf`.
    /// @param account The account.
    /// @return number The number of agents that the account owns.
    function tokensOf(address account) public view returns (uint256 number) {
        return uint32(_account(account).word);
    }

    function _explicitWallet(uint256 id) private view returns (uint256 wallet) {
        bytes32 slot = keccak256(abi.encode(id, WALLETS_SLOT));
        assembly ("memory-safe") {
            wallet := sload(slot)
        }
    }
}
