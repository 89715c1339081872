// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";

/// @title Receiver that refuses tokens: it reverts with its own error
contract ReceiverReverts is IERC721Receiver {
    /// @notice The receiver refuses the token.
    /// @param agentId The token.
    error NotWanted(uint256 agentId);

    /// @inheritdoc IERC721Receiver
    function onERC721Received(address, address, uint256 agentId, bytes calldata) external pure returns (bytes4) {
        revert NotWanted(agentId);
    }
}
