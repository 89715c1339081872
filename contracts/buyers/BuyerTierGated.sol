// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IBuyerCredentials} from "../interfaces/IBuyerCredentials.sol";
import {IBuyerRecords} from "../interfaces/IBuyerRecords.sol";
import {IBuyerTierGate} from "../interfaces/IBuyerTierGate.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Base of services for buyers of a tier
/// @notice For contracts of others: inherit it, and guard a function with `onlyBuyerTier` or `onlyTierHolder`.
/// @dev WARNING: a tier is cheap for a buyer that pays a friend's agent and gets the money back. docs/buyers.md says
/// what each tier costs to fake. Do not guard with it what is worth more.
///
/// Sample:
/// ```
/// function serve() external onlyBuyerTier(msg.sender, BuyerTier.Trusted) { … }
/// ```
abstract contract BuyerTierGated is IBuyerTierGate {
    /// @dev The registry of the buyers.
    address internal immutable BUYERS;

    /// @dev Requires that a buyer has a tier, by both records. Reverts with `TierTooLow`.
    /// @param buyer The buyer.
    /// @param minimum The lowest tier that passes.
    modifier onlyBuyerTier(address buyer, BuyerTier minimum) {
        BuyerTier tier = IBuyerRecords(BUYERS).buyerTierOf(buyer);
        require(tier >= minimum, TierTooLow(buyer, tier, minimum));
        _;
    }

    /// @dev Requires that the caller holds a valid credential of a tier. Reverts, in this order, with
    /// `CredentialOfAnother`, `TierTooLow` and `CredentialNotValid`.
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    /// @param minimum The lowest tier that passes.
    modifier onlyTierHolder(
        IBuyerCredentials.TierCredential calldata credential,
        bytes calldata signature,
        BuyerTier minimum
    ) {
        require(credential.holder == msg.sender, CredentialOfAnother(credential.holder, msg.sender));
        require(credential.tier >= minimum, TierTooLow(msg.sender, credential.tier, minimum));
        bool isValid = IBuyerCredentials(BUYERS).verifyCredential(credential, signature);
        require(isValid, CredentialNotValid(msg.sender));
        _;
    }

    /// @dev Reverts with `NotABuyerRegistry`.
    /// @param registry The registry of the buyers.
    constructor(address registry) {
        require(
            ERC165Checker.supportsInterface(registry, type(IBuyerRecords).interfaceId) &&
                ERC165Checker.supportsInterface(registry, type(IBuyerCredentials).interfaceId) &&
                EIP7702Utils.fetchDelegate(registry) == address(0),
            NotABuyerRegistry(registry)
        );
        BUYERS = registry;
    }

    /// @inheritdoc IBuyerTierGate
    function getBuyerRegistry() external view returns (address registry) {
        return BUYERS;
    }
}
