// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title What the wallets that misbehave have in common
/// @notice Can own an agent and is asked for ERC-1271 signatures; how it answers is its misdeed.
abstract contract HostileWallet {
    /// @notice Calls another contract as the wallet.
    /// @dev For anybody. Reverts with the reason of the call.
    /// @param target The contract.
    /// @param data The calldata.
    /// @return result What the call returned, ABI encoded.
    function execute(address target, bytes calldata data) external returns (bytes memory result) {
        return Address.functionCall(target, data);
    }

    /// @notice Answers whether a signature is the wallet's (ERC-1271), in its own way.
    /// @param hash What was signed.
    /// @param signature The signature.
    /// @return answer `0x1626ba7e` would be yes.
    function isValidSignature(bytes32 hash, bytes calldata signature) external virtual returns (bytes32 answer);
}
