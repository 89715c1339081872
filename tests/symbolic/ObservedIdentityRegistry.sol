// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IdentityRegistry} from "../../contracts/identity/IdentityRegistry.sol";
import {Branchless} from "./Proof.sol";

/// @title The identity registry, with a view of what the proofs are about
/// @notice The views have no branches: each would double the paths that the prover has to follow.
contract ObservedIdentityRegistry is IdentityRegistry, Branchless {
    /// @dev The slots of `_wallets` and `_nextAgentId`.
    uint256 private constant WALLETS_SLOT = 5;
    uint256 private constant NEXT_AGENT_ID_SLOT = 2;

    /// @notice Whether the account speaks as no agent, or as one that it owns or is the wallet of.
    /// @param account The account.
    /// @return holds Whether it holds of the account.
    function speaksRightly(address account) external view returns (bool holds) {
        uint256 id = agentOf(account);
        return _or(_or(id == 0, _ownerOf(id) == account), walletOf(id) == account);
    }

    /// @notice Whether the agents that are registered have the ids from 1 to their number, nothing is stored of others,
    /// and a wallet is stored only of an agent that says so.
    /// @param id An agent, registered or not.
    /// @return holds Whether it holds of the agent.
    function isStoredRightly(uint256 id) external view returns (bool holds) {
        bool isGiven = _and(id != 0, id < nextAgentId());
        uint256 ownership = ownershipOf(id);
        bool isFree = _or(isGiven, ownership == 0);
        bool hidesNoWallet = _or(ownership & EXPLICIT_WALLET != 0, _explicitWallet(id) == 0);
        return _and(_and((uint160(ownership) != 0) == isGiven, isFree), hidesNoWallet);
    }

    /// @notice Whether the owner of an agent is known to own one.
    /// @param id The agent.
    /// @return holds Whether it holds of the agent; it does if nobody owns the agent.
    function isCounted(uint256 id) external view returns (bool holds) {
        address owner = _ownerOf(id);
        return _or(owner == address(0), tokensOf(owner) != 0);
    }

    /// @notice The owner of an agent; zero if there is none. It is `ownerOf`, without the revert.
    /// @param id The agent.
    /// @return owner The owner.
    function ownerOrZero(uint256 id) external view returns (address owner) {
        return _ownerOf(id);
    }

    /// @notice The id of the next agent.
    /// @return id The id.
    function nextAgentId() public view returns (uint256 id) {
        assembly ("memory-safe") {
            id := sload(NEXT_AGENT_ID_SLOT)
        }
    }

    /// @notice What `getAgentWallet` returns.
    /// @param id The agent.
    /// @return wallet The wallet.
    function walletOf(uint256 id) public view returns (address wallet) {
        uint256 ownership = ownershipOf(id);
        return address(uint160(_select(ownership & EXPLICIT_WALLET != 0, _explicitWallet(id), ownership)));
    }

    /// @notice The word that says who owns an agent, and whether its wallet is explicit.
    /// @param id The agent.
    /// @return word The word.
    function ownershipOf(uint256 id) public view returns (uint256 word) {
        return _token(id).ownership;
    }

    /// @notice What `balanceOf` returns.
    /// @param account The account.
    /// @return number How many agents it owns.
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
