// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Settlement of x402 payments, recorded in the same transaction
/// @notice Anyone can submit a payment that a buyer has signed for x402's `exact` scheme; the registry settles and
/// records it.
/// @dev The authorisation is an ordinary EIP-3009 authorisation that names the seller's wallet, so clients and servers
/// do not have to change. Only tokens on a fixed list are accepted, all of which have six decimals, so their units are
/// millionths of a dollar. The token's nonce ensures that each payment is settled only once. The seller is the primary
/// agent of the paid account (`IAgentDirectory.agentOf`).
///
/// A payment is settled but not counted if the paid account has no primary agent, if nothing was paid, or if the payer
/// is the agent's owner or wallet. `PaymentNotCounted` gives the reason. Payments by operators and approved addresses
/// do count, because these accounts are named by the seller alone.
///
/// A payment that was submitted directly to the token is settled, but not recorded here; the attestor may record it.
///
/// WARNING: the issuer of a listed token can make it behave arbitrarily, and can therefore fabricate payments in that
/// token.
///
/// Sample:
/// ```
/// bool counted = registry.settle(buyer, seller, 10_000, 0, deadline, nonce, usdc, signature);
/// ```
interface IBuyerSettlement {
    /// @notice The reason why a settled payment was not counted.
    /// @param NothingPaid The amount is zero.
    /// @param NoSeller The paid account has no primary agent.
    /// @param PaidOwnAgent The payer owns the paid agent.
    /// @param PaidOwnWallet The payer is the wallet of the paid agent, and none of the other reasons applies.
    enum NotCounted {
        NothingPaid,
        NoSeller,
        PaidOwnAgent,
        PaidOwnWallet
    }

    /// @notice Emitted when a payment is settled and counted.
    /// @dev The next log is the token's `AuthorizationUsed` with the same nonce; the address of that log identifies the
    /// token.
    /// @param buyer The account that paid.
    /// @param sellerId The agent that was paid.
    /// @param amount The amount, in millionths of a dollar.
    /// @param nonce The nonce of the authorisation.
    event PaymentSettled(address indexed buyer, uint256 indexed sellerId, uint256 amount, bytes32 nonce);

    /// @notice Emitted when a payment is settled, but not counted.
    /// @param buyer The account that paid.
    /// @param sellerId The agent that was paid; 0 if there is none.
    /// @param amount The amount, in millionths of a dollar.
    /// @param nonce The nonce of the authorisation.
    /// @param reason The reason.
    event PaymentNotCounted(
        address indexed buyer,
        uint256 indexed sellerId,
        uint256 amount,
        bytes32 nonce,
        NotCounted reason
    );

    /// @notice The number of listed tokens is not between 1 and 4.
    /// @param count The number.
    /// @param limit The maximum number.
    error TokenCountOutOfRange(uint256 count, uint256 limit);

    /// @notice The same token is listed twice.
    /// @param token The token.
    error TokenListedTwice(address token);

    /// @notice The token does not have six decimals.
    /// @param token The token.
    /// @param decimals Its decimals.
    /// @param required The required number of decimals.
    error UnsuitableDecimals(address token, uint8 decimals, uint8 required);

    /// @notice The token is not on the list.
    /// @param token The token.
    error TokenNotListed(address token);

    /// @notice The paid account received less than the signed amount: the token kept a fee, or transferred nothing.
    /// @param token The token.
    /// @param amount The signed amount.
    /// @param arrived The amount that the paid account received.
    error PaymentFellShort(address token, uint256 amount, uint256 arrived);

    /// @notice Settles a payment and records it. The signature is passed in parts.
    /// @dev Can be called by anyone. The arguments are those of the token's `transferWithAuthorization`, with the token
    /// inserted before the signature. Emits `PaymentSettled` or `PaymentNotCounted`, followed by the token's events.
    /// Reverts with the first applicable error: `TokenNotListed`, an error of the identity registry, an error of the
    /// token (such as for a used nonce, an invalid signature or a blocked account), or `PaymentFellShort`.
    /// @param from The buyer: the account that pays, and that signed the authorisation.
    /// @param to The account that is paid, which is x402's `payTo`.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second before the authorisation becomes valid, as a Unix timestamp.
    /// @param validBefore The first second in which it is no longer valid, as a Unix timestamp.
    /// @param nonce The nonce of the authorisation.
    /// @param token The token.
    /// @param v The signature's recovery id.
    /// @param r The signature's first half.
    /// @param s The signature's second half.
    /// @return counted True if the payment counts for the buyer.
    function settle(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        address token,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external returns (bool counted);

    /// @notice Settles a payment and records it.
    /// @dev Like the other overload. The buyer may be a contract if the token supports this (ERC-1271).
    /// @param from The buyer: the account that pays, and that signed the authorisation.
    /// @param to The account that is paid, which is x402's `payTo`.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second before the authorisation becomes valid, as a Unix timestamp.
    /// @param validBefore The first second in which it is no longer valid, as a Unix timestamp.
    /// @param nonce The nonce of the authorisation.
    /// @param token The token.
    /// @param signature The signature, in the format that the token expects.
    /// @return counted True if the payment counts for the buyer.
    function settle(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        address token,
        bytes calldata signature
    ) external returns (bool counted);

    /// @notice Returns the score and the tier of a buyer from the settled record alone.
    /// @dev Requires no trust in the attestor. Because this record has no reviews, the score is at most 75, and the
    /// tier at most `Verified`: higher tiers require fairness.
    /// @param buyer The account.
    /// @return score The score, 0 to 75.
    /// @return tier The tier.
    function settlementScoreOf(address buyer) external view returns (uint8 score, BuyerTier tier);

    /// @notice Returns the listed tokens.
    /// @return tokens The tokens, in the order of the constructor's argument.
    function getTokenAddresses() external view returns (address[] memory tokens);
}
