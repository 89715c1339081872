// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Base of the wallets that misbehave
/// @notice It can own an agent. Its answer to ERC-1271 requests is its misdeed.
abstract contract HostileWallet {
    /// @notice Calls another contract as the wallet.
    /// @dev For anybody. Reverts with the reason of a failed call.
    /// @param target The contract.
    /// @param data The calldata.
    /// @return result The returned data, ABI encoded.
    function execute(address target, bytes calldata data) external returns (bytes memory result) {
        return Address.functionCall(target, data);
    }

    /// @notice Answers an ERC-1271 request with the wallet's misdeed.
    /// @param hash The signed digest.
    /// @param signature The signature.
    /// @return answer `0x1626ba7e` accepts the signature.
    function isValidSignature(bytes32 hash, bytes calldata signature) external virtual returns (bytes32 answer);
}
