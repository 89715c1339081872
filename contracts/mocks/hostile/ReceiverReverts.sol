// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";

/// @title A contract that refuses tokens by reverting with an error of its own
contract ReceiverReverts is IERC721Receiver {
    /// @notice What it reverts with.
    /// @param agentId The token that it refused.
    error NotWanted(uint256 agentId);

    /// @inheritdoc IERC721Receiver
    function onERC721Received(address, address, uint256 agentId, bytes calldata) external pure returns (bytes4) {
        revert NotWanted(agentId);
    }
}
