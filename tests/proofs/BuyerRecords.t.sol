// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerReputationRegistry} from "../../contracts/buyers/BuyerReputationRegistry.sol";
import {IBuyerAttestation} from "../../contracts/interfaces/IBuyerAttestation.sol";
import {AttestedPayment, positionMask} from "../../contracts/libraries/AttestedPayment.sol";
import {PaymentTally} from "../../contracts/libraries/PaymentTally.sol";
import {Proof} from "./Proof.sol";

/// @title Token and identity registry that answer with any words
/// @notice The answers come from its storage, which is symbolic in the proofs.
contract UnpredictableMarket {
    /// @notice The answer to `agentOf`.
    mapping(address account => uint256 word) public agentOf;

    /// @notice The answer to `getAgentWallet`.
    mapping(uint256 agentId => uint256 word) public getAgentWallet;

    /// @notice The answer to `ownerOf`.
    mapping(uint256 agentId => uint256 word) public ownerOf;

    /// @notice The answer to `balanceOf`.
    mapping(address account => uint256 word) public balanceOf;

    /// @notice Takes a transfer by signature.
    fallback() external {}

    /// @notice Returns the token's decimals.
    /// @return count Six.
    function decimals() external pure returns (uint8 count) {
        return 6;
    }
}

/// @title Settled and attested records are never mixed, and no payment counts twice
/// @notice The proofs start from any storage of the registry, and so cover any history, any caller, and any answers of
/// the identity registry and the token.
contract BuyerRecordsProof is Proof {
    /// @dev The slot of the settled records.
    uint256 private constant SETTLED_SLOT = 0;

    uint256 private constant ATTESTED_SEED = uint96(uint256(keccak256("BuyerAttestation.attested")));

    UnpredictableMarket private _market;
    BuyerReputationRegistry private _registry;

    /// @dev Runs a call. Asserts that no settled record changed, and no attested one but that of a buyer.
    modifier changesAttested(address account, address buyer) {
        (uint256 settled, uint256 attested) = (_settled(account), _attested(account));
        _;
        _prove(_settled(account) == settled);
        _prove(_or(account == buyer, _attested(account) == attested));
    }

    /// @dev Runs a call. Asserts that no attested record changed, and no settled one but that of a payer.
    modifier changesSettled(address account, address payer) {
        (uint256 settled, uint256 attested) = (_settled(account), _attested(account));
        _;
        _prove(_or(account == payer, _settled(account) == settled));
        _prove(_attested(account) == attested);
    }

    /// @dev Runs a call. Asserts that no record changed.
    modifier changesNoRecord(address account) {
        (uint256 settled, uint256 attested) = (_settled(account), _attested(account));
        _;
        _prove(_settled(account) == settled && _attested(account) == attested);
    }

    function setUp() external {
        _market = new UnpredictableMarket();
        address[] memory tokens = new address[](1);
        tokens[0] = address(_market);
        _registry = new BuyerReputationRegistry(address(_market), tokens, address(this), address(this));
        SVM.enableSymbolicStorage(address(_market));
        SVM.enableSymbolicStorage(address(_registry));
    }

    /// @dev A payment counts only if nothing of its transaction was recorded, and then all of it is.
    function check_recordPayment(
        address caller,
        address account,
        address buyer,
        uint256 amount,
        bytes32 txHash,
        uint8 position
    ) external reachesItsEnd changesAttested(account, buyer) {
        bool wasRecorded = _registry.hasPayment(txHash, position, block.chainid);
        PaymentTally before = PaymentTally.wrap(_attested(buyer));
        VM.prank(caller);
        _registry.recordPayment(buyer, amount, txHash);
        _prove(!wasRecorded && _registry.hasPayment(txHash, position, block.chainid));
        _prove(amount < 2 ** 56);
        _prove(_attested(buyer) == PaymentTally.unwrap(before.withPaymentNow(amount)));
    }

    /// @dev A payment counts only if its position was free, and takes no other position and no other transaction's.
    function check_recordManyPayments(
        address caller,
        address account,
        uint256 chainId,
        bytes32 txHash,
        uint256 word,
        bytes32 otherHash,
        uint8 position
    ) external reachesItsEnd changesAttested(account, _buyerOf(word)) {
        AttestedPayment payment = AttestedPayment.wrap(word);
        bool wasRecorded = _registry.hasPayment(txHash, payment.position(), chainId);
        bool otherWas = _registry.hasPayment(otherHash, position, chainId);
        PaymentTally before = PaymentTally.wrap(_attested(_buyerOf(word)));
        IBuyerAttestation.PaymentRecord[] memory records = new IBuyerAttestation.PaymentRecord[](1);
        records[0] = IBuyerAttestation.PaymentRecord(txHash, payment);
        VM.prank(caller);
        _registry.recordManyPayments(chainId, records);
        _prove(!wasRecorded && _registry.hasPayment(txHash, payment.position(), chainId));
        bool isTaken = _and(otherHash == txHash, positionMask(payment.position()) & positionMask(position) != 0);
        _prove(_registry.hasPayment(otherHash, position, chainId) == _or(otherWas, isTaken));
        PaymentTally later = before.withPayment(payment.amount(), payment.paidAt());
        _prove(_attested(_buyerOf(word)) == PaymentTally.unwrap(later));
    }

    function check_recordFeedback(
        address caller,
        address account,
        address buyer,
        address seller,
        int8 score
    ) external reachesItsEnd changesAttested(account, buyer) {
        VM.prank(caller);
        _registry.recordFeedback(buyer, seller, score);
        (bool hasVote, uint8 vote) = _registry.getBuyerFeedback(buyer, seller);
        _prove(hasVote && vote <= 100 && vote == uint8(score));
    }

    function check_recordFeedbacks(
        address caller,
        address account,
        address buyer,
        address seller,
        int8 score
    ) external reachesItsEnd changesAttested(account, buyer) {
        IBuyerAttestation.FeedbackRecord[] memory records = new IBuyerAttestation.FeedbackRecord[](1);
        records[0] = IBuyerAttestation.FeedbackRecord(buyer, score, seller);
        VM.prank(caller);
        _registry.recordFeedbacks(records);
        (bool hasVote, uint8 vote) = _registry.getBuyerFeedback(buyer, seller);
        _prove(hasVote && vote <= 100 && vote == uint8(score));
    }

    function check_recordReviews(
        address caller,
        address account,
        address buyer,
        uint16 reviews,
        uint24 sum,
        uint16 disputes
    ) external reachesItsEnd changesAttested(account, buyer) {
        PaymentTally before = PaymentTally.wrap(_attested(buyer));
        IBuyerAttestation.ReviewsRecord[] memory records = new IBuyerAttestation.ReviewsRecord[](1);
        records[0] = IBuyerAttestation.ReviewsRecord(buyer, reviews, sum, disputes);
        VM.prank(caller);
        _registry.recordReviews(records);
        _prove(sum <= 100 * uint256(reviews));
        _prove(_attested(buyer) == PaymentTally.unwrap(before.withReviews(reviews, sum, disputes)));
    }

    function check_settleInParts(
        address caller,
        address account,
        address from,
        address to,
        uint256 value,
        bytes32 nonce
    ) external reachesItsEnd changesSettled(account, from) {
        uint256 former = _settled(from);
        VM.prank(caller);
        bool counted = _registry.settle(from, to, value, 0, 1, nonce, address(_market), 27, 0, 0);
        _proveSettled(from, to, value, former, counted);
    }

    function check_settleWhole(
        address caller,
        address account,
        address from,
        address to,
        uint256 value,
        bytes32 nonce
    ) external reachesItsEnd changesSettled(account, from) {
        uint256 former = _settled(from);
        VM.prank(caller);
        bool counted = _registry.settle(from, to, value, 0, 1, nonce, address(_market), new bytes(65));
        _proveSettled(from, to, value, former, counted);
    }

    function check_setNominee(
        address caller,
        address account,
        address nominee,
        bool isAnchorer
    ) external reachesItsEnd changesNoRecord(account) {
        VM.prank(caller);
        _registry.setNominee(nominee, isAnchorer ? IBuyerAttestation.Role.Anchorer : IBuyerAttestation.Role.Attestor);
    }

    function check_takeRole(
        address caller,
        address account,
        bool isAnchorer
    ) external reachesItsEnd changesNoRecord(account) {
        VM.prank(caller);
        _registry.takeRole(isAnchorer ? IBuyerAttestation.Role.Anchorer : IBuyerAttestation.Role.Attestor);
    }

    function check_anchorRoot(
        address caller,
        address account,
        uint64 epoch,
        bytes32 root
    ) external reachesItsEnd changesNoRecord(account) {
        VM.prank(caller);
        _registry.anchorRoot(epoch, root);
        _prove(_registry.rootOf(epoch) == root);
    }

    /// @dev Asserts that a payment counts only as specified, and that the payer's record changed only if it counts.
    function _proveSettled(address from, address to, uint256 value, uint256 former, bool counted) private view {
        uint256 sellerId = _market.agentOf(to);
        uint256 later = PaymentTally.unwrap(PaymentTally.wrap(former).withSettlement(value, sellerId));
        _prove(_settled(from) == _select(counted, later, former));
        _prove(!counted || (value != 0 && sellerId != 0));
        _prove(!counted || _market.ownerOf(sellerId) != uint160(from));
        _prove(!counted || _market.getAgentWallet(sellerId) != uint160(from));
    }

    /// @dev Returns the settled word of an account.
    function _settled(address account) private view returns (uint256 word) {
        return uint256(VM.load(address(_registry), keccak256(abi.encode(account, SETTLED_SLOT))));
    }

    /// @dev Returns the attested word of an account.
    function _attested(address account) private view returns (uint256 word) {
        return uint256(VM.load(address(_registry), bytes32((uint256(uint160(account)) << 96) | ATTESTED_SEED)));
    }

    /// @dev Returns the buyer of a packed payment.
    function _buyerOf(uint256 word) private pure returns (address buyer) {
        return address(uint160(word >> 96));
    }
}
