// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title Revert strings of the ERC-8004 interface
/// @notice Clients of the deployed registries compare these strings, so they are identical to theirs. Functions outside
/// that interface revert with custom errors that have arguments.
library RevertReasons {
    /// @dev The caller is neither the owner nor an operator of the agent, and is not approved for it.
    string internal constant NOT_AUTHORIZED = "Not authorized";
    /// @dev The metadata key `agentWallet` is reserved: only `setAgentWallet` can set it.
    string internal constant RESERVED_KEY = "reserved key";
    /// @dev The new wallet is the zero address.
    string internal constant BAD_WALLET = "bad wallet";
    /// @dev The deadline of the signature has passed.
    string internal constant EXPIRED = "expired";
    /// @dev The deadline of the wallet signature is more than five minutes ahead.
    string internal constant DEADLINE_TOO_FAR = "deadline too far";
    /// @dev The new wallet did not sign this message.
    string internal constant INVALID_WALLET_SIG = "invalid wallet sig";
    /// @dev The identity registry has no code, or is an account with an EIP-7702 delegation.
    string internal constant BAD_IDENTITY = "bad identity";

    /// @dev The validator of a request is the zero address.
    string internal constant BAD_VALIDATOR = "bad validator";
    /// @dev The request hash is in use.
    string internal constant EXISTS = "exists";
    /// @dev No request has this hash.
    string internal constant UNKNOWN = "unknown";
    /// @dev The caller is not the validator of the request.
    string internal constant NOT_VALIDATOR = "not validator";
    /// @dev The response is above 100.
    string internal constant RESPONSE_ABOVE_100 = "resp>100";

    /// @dev The feedback's value has more than 18 decimals.
    string internal constant TOO_MANY_DECIMALS = "too many decimals";
    /// @dev The feedback's value is above 1e38 or below -1e38.
    string internal constant VALUE_TOO_LARGE = "value too large";
    /// @dev The client may act for the agent that it tries to rate.
    string internal constant SELF_FEEDBACK = "Self-feedback not allowed";
    /// @dev The feedback index is 0; the first index is 1.
    string internal constant INDEX_ZERO = "index must be > 0";
    /// @dev The client has not given the agent any feedback with this index.
    string internal constant INDEX_OUT_OF_BOUNDS = "index out of bounds";
    /// @dev The feedback is revoked. Revocation is final.
    string internal constant ALREADY_REVOKED = "Already revoked";
    /// @dev The response has no URI.
    string internal constant EMPTY_URI = "Empty URI";
    /// @dev The list of clients is empty. A summary of all clients would be easy for anyone to forge.
    string internal constant CLIENTS_REQUIRED = "clientAddresses required";
}
