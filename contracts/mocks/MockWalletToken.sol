// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title Token of agents with wallets and nothing else
/// @notice The least that a companion directory accepts: ERC-721 and `getAgentWallet`. An owner chooses the id, and
/// may burn the token.
contract MockWalletToken is ERC721 {
    mapping(uint256 agentId => address wallet) private _wallets;

    constructor() ERC721("Wallet token", "WALLET") {}

    /// @notice Makes an agent of the caller.
    /// @param agentId Its id.
    function mint(uint256 agentId) external {
        _mint(msg.sender, agentId);
    }

    /// @notice Ends an agent of the caller.
    /// @param agentId Its id.
    function burn(uint256 agentId) external {
        _update(address(0), agentId, msg.sender);
    }

    /// @notice Sets the wallet of an agent of the caller.
    /// @param agentId Its id.
    /// @param wallet The wallet.
    function setAgentWallet(uint256 agentId, address wallet) external {
        _checkAuthorized(ownerOf(agentId), msg.sender, agentId);
        _wallets[agentId] = wallet;
    }

    /// @notice Returns the wallet of an agent.
    /// @dev Reverts for an unknown agent, unlike the registries of ERC-8004.
    /// @param agentId The agent.
    /// @return wallet The wallet; zero: none.
    function getAgentWallet(uint256 agentId) external view returns (address wallet) {
        _requireOwned(agentId);
        return _wallets[agentId];
    }
}
