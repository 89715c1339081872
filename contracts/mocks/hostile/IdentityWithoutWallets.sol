// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title Token without wallets
contract IdentityWithoutWallets is ERC721 {
    constructor() ERC721("", "") {}
}
