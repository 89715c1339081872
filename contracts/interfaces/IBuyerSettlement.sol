// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Settlement of x402 payments, recorded in the same transaction
/// @notice Anybody submits a payment that a buyer signed for x402's `exact` scheme, and the registry records it.
/// @dev The authorisation is the plain one of EIP-3009 and names the seller's wallet, so clients and servers need no
/// change. Only tokens of a fixed list are accepted, all with six decimals, so that their units are millionths of a
/// dollar. The token's nonce makes sure that a payment is settled once. The seller is the agent as which the paid
/// account speaks (`IAgentDirectory.agentOf`).
///
/// A payment is settled but not counted if the paid account speaks as no agent, if nothing was paid, or if the payer is
/// the agent's owner or wallet. `PaymentNotCounted` says why. Operators and approved addresses count as buyers: the
/// seller alone names them.
///
/// A payment that somebody submitted to the token itself is settled, but not here: the attestor may record it.
///
/// WARNING: the issuer of a listed token can make it behave as it likes, and so invent payments in that token.
///
/// Sample:
/// ```
/// bool counted = registry.settle(buyer, seller, 10_000, 0, deadline, nonce, usdc, signature);
/// ```
interface IBuyerSettlement {
    /// @notice The reason why a settled payment was not counted.
    /// @param NothingPaid The amount is zero.
    /// @param NoSeller The paid account speaks as no agent.
    /// @param PaidOwnAgent The payer owns the paid agent.
    /// @param PaidOwnWallet The payer is the wallet of the paid agent, and nothing of that.
    enum NotCounted {
        NothingPaid,
        NoSeller,
        PaidOwnAgent,
        PaidOwnWallet
    }

    /// @notice Emitted when a payment was settled and counted.
    /// @dev The next log is the token's `AuthorizationUsed` with the same nonce; its address names the token.
    /// @param buyer The account that paid.
    /// @param sellerId The agent that was paid.
    /// @param amount The amount, in millionths of a dollar.
    /// @param nonce The nonce of the authorisation.
    event PaymentSettled(address indexed buyer, uint256 indexed sellerId, uint256 amount, bytes32 nonce);

    /// @notice Emitted when a payment was settled, but not counted.
    /// @param buyer The account that paid.
    /// @param sellerId The agent that was paid; 0: none.
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

    /// @notice The number of listed tokens is not 1 to 4.
    /// @param count The number.
    /// @param limit The limit.
    error TokenCountOutOfRange(uint256 count, uint256 limit);

    /// @notice The same token is listed twice.
    /// @param token The token.
    error TokenListedTwice(address token);

    /// @notice The token's decimals are not six.
    /// @param token The token.
    /// @param decimals Its decimals.
    /// @param required The required decimals.
    error UnsuitableDecimals(address token, uint8 decimals, uint8 required);

    /// @notice The token is not on the list.
    /// @param token The token.
    error TokenNotListed(address token);

    /// @notice Less arrived at the paid account than was signed for: the token kept a fee, or transferred nothing.
    /// @param token The token.
    /// @param amount The signed amount.
    /// @param arrived The amount that arrived.
    error PaymentFellShort(address token, uint256 amount, uint256 arrived);

    /// @notice Settles a payment and records it. The signature is in parts.
    /// @dev For anybody. The arguments are those of the token's `transferWithAuthorization`, with the token before the
    /// signature. Emits `PaymentSettled` or `PaymentNotCounted`, and then the token's events. Reverts, in this order,
    /// with `TokenNotListed`, with the identity registry's error, with the token's error (as for a used nonce, a wrong
    /// signature or a blocked account), with `PaymentFellShort`.
    /// @param from The account that pays and signed: the buyer.
    /// @param to The account that is paid: x402's `payTo`.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second, in Unix time, before the authorisation is valid.
    /// @param validBefore The first second, in Unix time, after it.
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
    /// @dev Like the other overload. The buyer may be a contract, if the token asks it (ERC-1271).
    /// @param from The account that pays and signed: the buyer.
    /// @param to The account that is paid: x402's `payTo`.
    /// @param value The amount, in the token's smallest unit.
    /// @param validAfter The last second, in Unix time, before the authorisation is valid.
    /// @param validBefore The first second, in Unix time, after it.
    /// @param nonce The nonce of the authorisation.
    /// @param token The token.
    /// @param signature The signature, as the token wants it.
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
    /// @dev Needs no trust in the attestor. Without reviews the score is at most 75, and the tier at most `Verified`,
    /// because higher tiers ask for fairness.
    /// @param buyer The account.
    /// @return score The score, 0 to 75.
    /// @return tier The tier.
    function settlementScoreOf(address buyer) external view returns (uint8 score, BuyerTier tier);

    /// @notice Returns the listed tokens.
    /// @return tokens The tokens, in the order of the constructor's argument.
    function getTokenAddresses() external view returns (address[] memory tokens);
}
