// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {
    AttestedPayment,
    AttestedPayments,
    MAX_ATTESTED_AMOUNT,
    WHOLE_TRANSACTION
} from "../libraries/AttestedPayment.sol";
import {IBuyerAttestation} from "../interfaces/IBuyerAttestation.sol";
import {IBuyerReputationRegistry} from "../interfaces/IBuyerReputationRegistry.sol";
import {BuyerRecord, PaymentTallies, PaymentTally} from "../libraries/PaymentTally.sol";
import {TransactionRecord, positionMask} from "../libraries/AttestedPayment.sol";
import {BuyerRoles} from "./BuyerRoles.sol";

/// @title Buyer records for which an attestor vouches
/// @notice The manuals are `IBuyerAttestation` and `IBuyerReputationRegistry`.
abstract contract BuyerAttestation is BuyerRoles, IBuyerReputationRegistry {
    int8 private constant MAX_SCORE = 100;

    /// @dev The lower part of the slot of each buyer's attested record. The upper part is the buyer's address:
    /// ```
    ///   255                          96 | 95                    0
    ///   buyer                           | RECORD_SEED
    /// ```
    /// A mapping would hash the address, and cost 55 gas more per buyer. The slot of a mapping's value ends in this
    /// seed with a probability of 2^-96, and small slots never do.
    uint96 private constant RECORD_SEED = uint96(uint256(keccak256("BuyerAttestation.attested")));

    /// @dev The vote of each seller on each buyer, plus 1; 0 if there is none.
    mapping(address buyer => mapping(address seller => uint256 votePlusOne)) private _votes;

    /// @inheritdoc IBuyerReputationRegistry
    function recordPayment(address buyer, uint256 amount, bytes32 txHash) external {
        // Inlined from `_requireAttestor`, whose jumps would cost 20 gas.
        require(msg.sender == _attestor, NotRoleHolder(Role.Attestor, msg.sender));
        require(amount <= MAX_ATTESTED_AMOUNT, PaymentTooHigh(amount, MAX_ATTESTED_AMOUNT));
        TransactionRecord storage transaction = _transactionOf(block.chainid, txHash);
        require(transaction.positions == 0, PaymentAlreadyRecorded(block.chainid, txHash, WHOLE_TRANSACTION));
        transaction.positions = type(uint256).max;
        BuyerRecord storage record = _recordOf(uint160(buyer));
        record.tally = record.tally.withPaymentNow(amount);
        _emitAttested(AttestedPayments.whole(buyer, amount, block.timestamp));
    }

    /// @inheritdoc IBuyerAttestation
    function recordManyPayments(uint256 chainId, PaymentRecord[] calldata records) external {
        _requireAttestor();
        if (records.length == 0) return;
        uint256 buyer = records[0].payment.buyerBits();
        BuyerRecord storage record = _recordOf(buyer);
        PaymentTally tally = record.tally;
        uint256 next;
        uint256 end;
        assembly ("memory-safe") {
            next := records.offset
            end := add(next, shl(6, records.length))
        }
        // Consecutive payments by the same buyer share one update of its record.
        while (next != end) {
            bytes32 txHash;
            AttestedPayment payment;
            // Access by index would check the length again, and cost 80 gas more per payment.
            assembly ("memory-safe") {
                txHash := calldataload(next)
                payment := calldataload(add(next, 0x20))
                next := add(next, 0x40)
            }
            if (payment.buyerBits() != buyer) {
                record.tally = tally;
                buyer = payment.buyerBits();
                record = _recordOf(buyer);
                tally = record.tally;
            }
            uint256 paidAt = payment.paidAt();
            unchecked {
                // The subtraction turns time 0 into the highest number.
                require(paidAt - 1 < block.timestamp, PaymentTimeOutOfRange(paidAt, block.timestamp));
            }
            _takePosition(chainId, txHash, payment.position());
            tally = tally.withPayment(payment.amount(), paidAt);
            _emitAttested(payment);
        }
        record.tally = tally;
    }

    /// @inheritdoc IBuyerReputationRegistry
    function recordFeedback(address buyer, address seller, int8 score) external {
        _requireAttestor();
        _recordFeedback(buyer, seller, score);
    }

    /// @inheritdoc IBuyerAttestation
    function recordFeedbacks(FeedbackRecord[] calldata records) external {
        _requireAttestor();
        for (uint256 i = 0; i < records.length; ++i) {
            _recordFeedback(records[i].buyer, records[i].seller, records[i].score);
        }
    }

    /// @inheritdoc IBuyerAttestation
    function recordReviews(ReviewsRecord[] calldata records) external {
        _requireAttestor();
        for (uint256 i = 0; i < records.length; ++i) {
            ReviewsRecord calldata record = records[i];
            (uint16 reviews, uint24 sum, uint16 disputes) = (record.reviews, record.reviewSum, record.disputes);
            require(sum <= uint256(uint8(MAX_SCORE)) * reviews, ReviewSumTooHigh(reviews, sum));
            BuyerRecord storage attested = _recordOf(uint160(record.buyer));
            attested.tally = attested.tally.withReviews(reviews, sum, disputes);
            emit ReviewsAttested(record.buyer, reviews, sum, disputes);
        }
    }

    /// @inheritdoc IBuyerAttestation
    function hasPayment(bytes32 txHash, uint8 position, uint256 chainId) external view returns (bool recorded) {
        return _transactionOf(chainId, txHash).positions & positionMask(position) != 0;
    }

    /// @inheritdoc IBuyerAttestation
    function getBuyerFeedback(address buyer, address seller) external view returns (bool hasVote, uint8 score) {
        uint256 vote = _votes[buyer][seller];
        return vote == 0 ? (false, 0) : (true, uint8(vote - 1));
    }

    /// @dev Returns the attested word of a buyer.
    function _attestedTally(address buyer) internal view returns (PaymentTally tally) {
        return _recordOf(uint160(buyer)).tally;
    }

    /// @dev Marks one payment of a transaction, or the whole transaction, as recorded.
    function _takePosition(uint256 chainId, bytes32 txHash, uint8 position) private {
        TransactionRecord storage transaction = _transactionOf(chainId, txHash);
        uint256 positions = transaction.positions;
        uint256 mask = positionMask(position);
        require(positions & mask == 0, PaymentAlreadyRecorded(chainId, txHash, position));
        transaction.positions = positions | mask;
    }

    /// @dev Records a seller's vote, replacing its previous one.
    function _recordFeedback(address buyer, address seller, int8 score) private {
        require(score >= 0 && score <= MAX_SCORE, ScoreOutOfRange(score, MAX_SCORE));
        require(buyer != seller, FeedbackOnSelf(buyer));
        uint256 vote = uint8(score);
        uint256 former = _votes[buyer][seller];
        BuyerRecord storage record = _recordOf(uint160(buyer));
        PaymentTally tally = record.tally;
        if (former == 0) {
            require(
                tally.feedbackSellers() < PaymentTallies.MAX_SELLERS,
                RecordIsFull(buyer, PaymentTallies.MAX_SELLERS)
            );
            record.tally = tally.withFirstVote(vote);
        } else {
            record.tally = tally.withVote(former - 1, vote);
        }
        _votes[buyer][seller] = vote + 1;
        emit FeedbackAttested(buyer, seller, score);
    }

    /// @dev Emits `PaymentAttested` from scratch space. Solidity's own `emit` would cost 20 gas more.
    function _emitAttested(AttestedPayment payment) private {
        bytes32 topic = PaymentAttested.selector;
        assembly ("memory-safe") {
            mstore(0x00, payment)
            log1(0x00, 0x20, topic)
        }
    }

    /// @dev Returns the attested record of a buyer, whose address is given as a number.
    function _recordOf(uint256 buyer) private pure returns (BuyerRecord storage record) {
        uint256 seed = RECORD_SEED;
        assembly ("memory-safe") {
            record.slot := or(shl(96, buyer), seed)
        }
    }

    /// @dev Returns the recorded payments of a transaction. Two transactions share a record only if their hashes differ
    /// in nothing except the bits of a chain's id. A mapping would hash a second word, and cost 20 gas more. No mapping
    /// can have a value in this slot, because mappings hash two words.
    function _transactionOf(uint256 chainId, bytes32 txHash) private pure returns (TransactionRecord storage record) {
        assembly ("memory-safe") {
            mstore(0x00, xor(chainId, txHash))
            record.slot := keccak256(0x00, 0x20)
        }
    }
}
