// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {SemaphoreVerifier} from "@semaphore-protocol/contracts/base/SemaphoreVerifier.sol";

/// @title Semaphore v4's proof verifier, as published by its authors
/// @notice Adds nothing. The sources are those of the npm package `@semaphore-protocol/contracts`, pinned by hash.
// solhint-disable-next-line no-empty-blocks
contract TierProofVerifier is SemaphoreVerifier {}
