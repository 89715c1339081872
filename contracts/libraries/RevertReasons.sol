// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

/// @title The reason texts that are part of the ERC-8004 surface
/// @notice Clients of the deployed registries match on these texts, so they are kept word for word, in this one place.
/// Whatever is not part of that surface reverts with custom errors that carry arguments.
library RevertReasons {
    /// @dev The caller is neither owner nor operator of the agent, nor approved for it.
    string internal constant NOT_AUTHORIZED = "Not authorized";
    /// @dev The metadata key `agentWallet` was set by other means than a proven wallet.
    string internal constant RESERVED_KEY = "reserved key";
    /// @dev The new wallet is the zero address.
    string internal constant BAD_WALLET = "bad wallet";
    /// @dev A signature's deadline has passed.
    string internal constant EXPIRED = "expired";
    /// @dev A wallet signature's deadline is more than five minutes ahead.
    string internal constant DEADLINE_TOO_FAR = "deadline too far";
    /// @dev The new wallet did not sign.
    string internal constant INVALID_WALLET_SIG = "invalid wallet sig";
    /// @dev A registry was bound to an address without code.
    string internal constant BAD_IDENTITY = "bad identity";

    /// @dev The validator of a request is the zero address.
    string internal constant BAD_VALIDATOR = "bad validator";
    /// @dev The request hash was used before.
    string internal constant EXISTS = "exists";
    /// @dev Nobody has requested a validation under this hash.
    string internal constant UNKNOWN = "unknown";
    /// @dev The caller is not the validator that the request names.
    string internal constant NOT_VALIDATOR = "not validator";
    /// @dev The response is above 100.
    string internal constant RESPONSE_ABOVE_100 = "resp>100";

    /// @dev A feedback's value has more than 18 decimals.
    string internal constant TOO_MANY_DECIMALS = "too many decimals";
    /// @dev A feedback's value is above 1e38 or below -1e38.
    string internal constant VALUE_TOO_LARGE = "value too large";
    /// @dev The client may act for the agent that it rates.
    string internal constant SELF_FEEDBACK = "Self-feedback not allowed";
    /// @dev Feedback is counted from 1.
    string internal constant INDEX_ZERO = "index must be > 0";
    /// @dev The client has given less feedback than that.
    string internal constant INDEX_OUT_OF_BOUNDS = "index out of bounds";
    /// @dev The feedback is revoked, which is final.
    string internal constant ALREADY_REVOKED = "Already revoked";
    /// @dev A response without a URI says nothing.
    string internal constant EMPTY_URI = "Empty URI";
    /// @dev A summary of all clients would be anybody's to forge.
    string internal constant CLIENTS_REQUIRED = "clientAddresses required";
}
