// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";

/// @title Receiver that re-enters: it transfers the token on before the first transfer returns
contract ReceiverPassesOn is IERC721Receiver {
    /// @inheritdoc IERC721Receiver
    /// @dev `data` is the ABI encoding of the next receiver's address.
    function onERC721Received(
        address,
        address,
        uint256 agentId,
        bytes calldata data
    ) external returns (bytes4 selector) {
        IERC721(msg.sender).transferFrom(address(this), abi.decode(data, (address)), agentId);
        return IERC721Receiver.onERC721Received.selector;
    }
}
