// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {EIP712} from "solady/src/utils/EIP712.sol";
import {LibBit} from "solady/src/utils/LibBit.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {IBuyerAnchors} from "../interfaces/IBuyerAnchors.sol";
import {IBuyerAttestation} from "../interfaces/IBuyerAttestation.sol";
import {IBuyerCredentials} from "../interfaces/IBuyerCredentials.sol";
import {IBuyerRecords} from "../interfaces/IBuyerRecords.sol";
import {IBuyerReputationRegistry} from "../interfaces/IBuyerReputationRegistry.sol";
import {IBuyerSettlement} from "../interfaces/IBuyerSettlement.sol";
import {BuyerScore, BuyerTier} from "../libraries/BuyerScore.sol";
import {PaymentTally} from "../libraries/PaymentTally.sol";
import {Signatures} from "../libraries/Signatures.sol";
import {BuyerAnchors} from "./BuyerAnchors.sol";
import {BuyerAttestation} from "./BuyerAttestation.sol";
import {BuyerRoles} from "./BuyerRoles.sol";
import {BuyerSettlement} from "./BuyerSettlement.sol";

/// @title Buyer reputation registry (Buyer Reputation Protocol, section 8)
/// @notice Its code is immutable; it has no owner and no proxy, and cannot be paused. Two roles record what no contract
/// can observe. The manuals are `IBuyerReputationRegistry`, `IBuyerRecords`, `IBuyerSettlement`, `IBuyerAttestation`,
/// `IBuyerAnchors` and `IBuyerCredentials`.
contract BuyerReputationRegistry is
    BuyerSettlement,
    BuyerAttestation,
    BuyerAnchors,
    EIP712,
    IBuyerRecords,
    IBuyerCredentials,
    IERC165
{
    /// @dev The maximum validity of a credential, in seconds.
    uint256 private constant MAX_CREDENTIAL_LIFETIME = 1 days;

    bytes32 private constant CREDENTIAL_TYPEHASH = keccak256(
        // solhint-disable-next-line max-line-length
        "TierCredential(address holder,uint64 issuedAt,uint64 validUntil,bytes32 policy,uint8 tier,bytes32 scope,bytes32 pseudonym)"
    );

    /// @dev Reverts with "bad identity", or as the constructors of its base contracts do.
    /// @param identityRegistry The identity registry of the sellers, or its companion directory.
    /// @param tokens The tokens in which payments are settled: one to four, with six decimals.
    /// @param attestor The first attestor.
    /// @param anchorer The first anchorer.
    constructor(
        address identityRegistry,
        address[] memory tokens,
        address attestor,
        address anchorer
    ) IdentityBound(identityRegistry) BuyerSettlement(tokens) BuyerRoles(attestor, anchorer) {}

    /// @inheritdoc IBuyerReputationRegistry
    function getBuyerScore(address buyer) external view returns (uint8 score) {
        PaymentTally settled = _settledTally(buyer);
        PaymentTally attested = _attestedTally(buyer);
        (uint256 fair, uint256 whole) = _fairnessOf(attested);
        unchecked {
            // In a record without payments, the time is 0, and 0 - 1 is the highest number.
            (uint256 first, uint256 other) = (settled.firstPaymentAt(), attested.firstPaymentAt());
            if (other - 1 < first - 1) first = other;
            return
                uint8(
                    BuyerScore.scoreOf(
                        settled.payments() + attested.payments(),
                        settled.volume() + attested.volume(),
                        _daysSince(first),
                        attested.disputes(),
                        fair,
                        whole
                    )
                );
        }
    }

    /// @inheritdoc IBuyerReputationRegistry
    function getBuyerTier(address buyer) external view returns (string memory tier) {
        return BuyerScore.nameOf(buyerTierOf(buyer));
    }

    /// @inheritdoc IBuyerRecords
    function recordsOf(
        address buyer
    ) external view returns (SettledRecord memory settled, AttestedRecord memory attested) {
        PaymentTally tally = _settledTally(buyer);
        settled = SettledRecord(
            tally.payments(),
            tally.volume(),
            tally.firstPaymentAt(),
            tally.lastPaymentAt(),
            LibBit.popCount(tally.sellerBits())
        );
        tally = _attestedTally(buyer);
        attested = AttestedRecord(
            tally.payments(),
            tally.volume(),
            tally.firstPaymentAt(),
            tally.lastPaymentAt(),
            tally.reviews(),
            tally.reviewSum(),
            tally.feedbackSellers(),
            tally.feedbackSum(),
            tally.disputes()
        );
    }

    /// @inheritdoc IBuyerCredentials
    function verifyCredential(
        TierCredential calldata credential,
        bytes calldata signature
    ) external view returns (bool valid) {
        (uint256 issuedAt, uint256 validUntil) = (credential.issuedAt, credential.validUntil);
        if (block.timestamp < issuedAt || block.timestamp > validUntil) return false;
        if (validUntil - issuedAt > MAX_CREDENTIAL_LIFETIME) return false;
        return Signatures.isSignedBy(_holderOf(Role.Attestor), getCredentialHash(credential), signature);
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) external pure returns (bool supported) {
        return
            interfaceId == type(IBuyerReputationRegistry).interfaceId ||
            interfaceId == type(IBuyerRecords).interfaceId ||
            interfaceId == type(IBuyerSettlement).interfaceId ||
            interfaceId == type(IBuyerAttestation).interfaceId ||
            interfaceId == type(IBuyerAnchors).interfaceId ||
            interfaceId == type(IBuyerCredentials).interfaceId ||
            interfaceId == type(IERC165).interfaceId;
    }

    /// @inheritdoc IBuyerRecords
    function buyerTierOf(address buyer) public view returns (BuyerTier tier) {
        PaymentTally settled = _settledTally(buyer);
        PaymentTally attested = _attestedTally(buyer);
        (uint256 fair, uint256 whole) = _fairnessOf(attested);
        uint256 volume = settled.volume() + attested.volume();
        return BuyerScore.tierOf(settled.payments() + attested.payments(), volume, attested.disputes(), fair, whole);
    }

    /// @inheritdoc IBuyerCredentials
    function getCredentialHash(TierCredential calldata credential) public view returns (bytes32 digest) {
        return _hashTypedData(keccak256(abi.encode(CREDENTIAL_TYPEHASH, credential)));
    }

    /// @inheritdoc EIP712
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("BuyerReputationRegistry", "1");
    }

    /// @dev Returns the fairness of an attested record as a fraction.
    function _fairnessOf(PaymentTally attested) private pure returns (uint256 fair, uint256 whole) {
        return
            BuyerScore.fairnessOf(
                attested.reviews(),
                attested.reviewSum(),
                attested.feedbackSellers(),
                attested.feedbackSum()
            );
    }
}
