// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {IAgentDirectory} from "../interfaces/IAgentDirectory.sol";
import {IBuyerSettlement} from "../interfaces/IBuyerSettlement.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {BuyerScore, BuyerTier} from "../libraries/BuyerScore.sol";
import {BuyerRecord, PaymentTally} from "../libraries/PaymentTally.sol";
import {ViewCalls} from "../libraries/ViewCalls.sol";

/// @title Settlement of x402 payments, recorded in the same transaction
/// @notice The manual is `IBuyerSettlement`.
abstract contract BuyerSettlement is IdentityBound, IBuyerSettlement {
    using ViewCalls for address;

    uint256 private constant MAX_TOKENS = 4;
    uint8 private constant DECIMALS = 6;

    bytes4 private constant PARTS_SELECTOR = bytes4(
        keccak256(
            // solhint-disable-next-line max-line-length
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
        )
    );
    bytes4 private constant WHOLE_SELECTOR = bytes4(
        keccak256("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")
    );

    /// @dev The number of listed tokens.
    uint256 private immutable TOKEN_COUNT;

    /// @dev The listed tokens; unused places repeat the first one. A list in storage would cost 2,100 gas per
    /// settlement.
    address private immutable TOKEN_0;
    address private immutable TOKEN_1;
    address private immutable TOKEN_2;
    address private immutable TOKEN_3;

    /// @dev The settled record of each buyer.
    mapping(address buyer => BuyerRecord record) private _settled;

    /// @dev Reverts with the first applicable error: `TokenCountOutOfRange`, `TokenListedTwice`, `UnsuitableDecimals`.
    /// The decimals are read only once, so a token that changes them later does not affect any record.
    constructor(address[] memory tokens) {
        require(tokens.length != 0 && tokens.length <= MAX_TOKENS, TokenCountOutOfRange(tokens.length, MAX_TOKENS));
        for (uint256 i = 0; i < tokens.length; ++i) {
            for (uint256 j = 0; j < i; ++j) {
                require(tokens[j] != tokens[i], TokenListedTwice(tokens[i]));
            }
            uint8 decimals = IERC20Metadata(tokens[i]).decimals();
            require(decimals == DECIMALS, UnsuitableDecimals(tokens[i], decimals, DECIMALS));
        }
        TOKEN_COUNT = tokens.length;
        TOKEN_0 = tokens[0];
        TOKEN_1 = tokens[tokens.length > 1 ? 1 : 0];
        TOKEN_2 = tokens[tokens.length > 2 ? 2 : 0];
        TOKEN_3 = tokens[tokens.length > 3 ? 3 : 0];
    }

    /// @inheritdoc IBuyerSettlement
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
    ) external returns (bool counted) {
        uint256 expected = _expectedBalance(token, from, to, value);
        counted = _record(from, to, value, nonce);
        _forward(token, PARTS_SELECTOR);
        _requireArrived(token, to, value, expected);
        (validAfter, validBefore, v, r, s);
    }

    /// @inheritdoc IBuyerSettlement
    function settle(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        address token,
        bytes calldata signature
    ) external returns (bool counted) {
        uint256 expected = _expectedBalance(token, from, to, value);
        counted = _record(from, to, value, nonce);
        _forward(token, WHOLE_SELECTOR);
        _requireArrived(token, to, value, expected);
        (validAfter, validBefore, signature);
    }

    /// @inheritdoc IBuyerSettlement
    function settlementScoreOf(address buyer) external view returns (uint8 score, BuyerTier tier) {
        PaymentTally tally = _settled[buyer].tally;
        (uint256 payments, uint256 volume) = (tally.payments(), tally.volume());
        uint256 points = BuyerScore.scoreOf(payments, volume, _daysSince(tally.firstPaymentAt()), 0, 0, 1);
        return (uint8(points), BuyerScore.tierOf(payments, volume, 0, 0, 1));
    }

    /// @inheritdoc IBuyerSettlement
    function getTokenAddresses() external view returns (address[] memory tokens) {
        address[MAX_TOKENS] memory listed = [TOKEN_0, TOKEN_1, TOKEN_2, TOKEN_3];
        tokens = new address[](TOKEN_COUNT);
        for (uint256 i = 0; i < TOKEN_COUNT; ++i) tokens[i] = listed[i];
    }

    /// @dev Returns the settled word of a buyer.
    function _settledTally(address buyer) internal view returns (PaymentTally tally) {
        return _settled[buyer].tally;
    }

    /// @dev Returns the full days since a time; 0 for a time in the future.
    function _daysSince(uint256 time) internal view returns (uint256 count) {
        unchecked {
            return block.timestamp > time ? (block.timestamp - time) / 1 days : 0;
        }
    }

    /// @dev Counts a payment for its buyer, or emits the reason why it does not count.
    function _record(address buyer, address to, uint256 amount, bytes32 nonce) private returns (bool counted) {
        uint256 sellerId = IDENTITY_REGISTRY.ask(IAgentDirectory.agentOf.selector, uint160(to));
        NotCounted reason;
        (counted, reason) = _judge(buyer, sellerId, amount);
        if (!counted) {
            emit PaymentNotCounted(buyer, sellerId, amount, nonce, reason);
            return false;
        }
        BuyerRecord storage record = _settled[buyer];
        record.tally = record.tally.withSettlement(amount, sellerId);
        emit PaymentSettled(buyer, sellerId, amount, nonce);
    }

    /// @dev Calls the token's `transferWithAuthorization` with the arguments of `settle` except the token, which
    /// precedes the signature. Solidity's own call would cost 500 gas more. The token has code, because it has already
    /// answered a call. Reverts with the token's own error.
    function _forward(address token, bytes4 selector) private {
        bytes4 wholeSelector = WHOLE_SELECTOR;
        assembly ("memory-safe") {
            let data := mload(0x40)
            let size := 0x124
            mstore(data, selector)
            calldatacopy(add(data, 0x04), 0x04, 0xc0)
            switch eq(selector, wholeSelector)
            case 0 {
                calldatacopy(add(data, 0xc4), 0xe4, 0x60)
            }
            default {
                // The token's word is dropped, so the signature moves one word towards the beginning.
                size := sub(calldatasize(), 0x20)
                mstore(add(data, 0xc4), sub(calldataload(0xe4), 0x20))
                calldatacopy(add(data, 0xe4), 0x104, sub(calldatasize(), 0x104))
            }
            if iszero(call(gas(), token, 0, data, size, 0, 0)) {
                returndatacopy(data, 0, returndatasize())
                revert(data, returndatasize())
            }
        }
    }

    /// @dev Returns the balance that the paid account must have after a payment. Reverts for a token that is not
    /// listed. A payment to oneself does not change the balance.
    function _expectedBalance(
        address token,
        address from,
        address to,
        uint256 value
    ) private view returns (uint256 expected) {
        bool isListed = token == TOKEN_0 || token == TOKEN_1 || token == TOKEN_2 || token == TOKEN_3;
        require(isListed, TokenNotListed(token));
        expected = token.ask(IERC20.balanceOf.selector, uint160(to));
        if (from != to) expected += value;
    }

    /// @dev Reverts if less than the full amount arrived.
    function _requireArrived(address token, address to, uint256 value, uint256 expected) private view {
        uint256 balance = token.ask(IERC20.balanceOf.selector, uint160(to));
        if (balance < expected) {
            uint256 missing = expected - balance;
            revert PaymentFellShort(token, value, missing > value ? 0 : value - missing);
        }
    }

    /// @dev Returns whether a payment counts, and otherwise the reason.
    function _judge(
        address buyer,
        uint256 sellerId,
        uint256 amount
    ) private view returns (bool counted, NotCounted reason) {
        if (amount == 0) return (false, NotCounted.NothingPaid);
        if (sellerId == 0) return (false, NotCounted.NoSeller);
        address registry = IDENTITY_REGISTRY;
        // Approvals are ignored, because sellers could otherwise erase their buyers' payments by approving these
        // buyers.
        uint256 owner = registry.ask(IERC721.ownerOf.selector, sellerId);
        if (owner == uint160(buyer)) return (false, NotCounted.PaidOwnAgent);
        uint256 wallet = registry.ask(IIdentityRegistry.getAgentWallet.selector, sellerId);
        return (wallet != uint160(buyer), NotCounted.PaidOwnWallet);
    }
}
