// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IBuyerCredentials} from "../interfaces/IBuyerCredentials.sol";
import {IBuyerRecords} from "../interfaces/IBuyerRecords.sol";
import {IBuyerTierGate} from "../interfaces/IBuyerTierGate.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";

/// @title Base of services for buyers that have a given tier
/// @notice To use it in your own contract, inherit it and guard a function with `onlyBuyerTier` or `onlyTierHolder`.
/// @dev WARNING: count holders of credentials by `credential.pseudonym`, never by `msg.sender`: one buyer may have
/// several holders, but has only one pseudonym per day.
///
/// WARNING: `onlyBuyerTier` queries the registry, which uses its own policy `brp-1.0` and not the gate's policy.
///
/// WARNING: a tier is cheap for a buyer that pays a friend's agent and gets the money back. docs/buyers.md shows what
/// it costs to fake each tier. Do not use a tier to guard anything that is worth more.
///
/// Sample:
/// ```
/// function serve() external onlyBuyerTier(msg.sender, BuyerTier.Trusted) { … }
/// ```
abstract contract BuyerTierGated is IBuyerTierGate {
    /// @dev The buyer reputation registry.
    address internal immutable BUYERS;

    /// @dev The hash of the name of the scoring policy whose tiers count in credentials.
    bytes32 internal immutable POLICY;

    /// @dev Requires that a buyer has at least a given tier, according to both records. Reverts with `TierTooLow`.
    /// @param buyer The buyer.
    /// @param minimum The lowest tier that passes.
    modifier onlyBuyerTier(address buyer, BuyerTier minimum) {
        BuyerTier tier = IBuyerRecords(BUYERS).buyerTierOf(buyer);
        if (tier < minimum) revert TierTooLow(buyer, tier, minimum);
        _;
    }

    /// @dev Requires that the caller holds a valid credential for at least a given tier, issued for this gate and its
    /// policy on the current UTC day. Reverts with the first applicable error: `CredentialOfAnother`, `PolicyMismatch`,
    /// `ScopeMismatch`, `EpochOver`, `TierTooLow` and `CredentialNotValid`.
    /// @param credential The credential.
    /// @param signature The attestor's signature.
    /// @param minimum The lowest tier that passes.
    modifier onlyTierHolder(
        IBuyerCredentials.TierCredential calldata credential,
        bytes calldata signature,
        BuyerTier minimum
    ) {
        _requireUse(credential);
        if (credential.tier < minimum) revert TierTooLow(msg.sender, credential.tier, minimum);
        bool isValid = IBuyerCredentials(BUYERS).verifyCredential(credential, signature);
        if (!isValid) revert CredentialNotValid(msg.sender);
        _;
    }

    /// @dev Reverts with `NotABuyerRegistry`.
    /// @param registry The buyer reputation registry.
    /// @param policy The keccak-256 hash of the name of the scoring policy whose tiers count in credentials.
    constructor(address registry, bytes32 policy) {
        bool isRegistry =
            ERC165Checker.supportsInterface(registry, type(IBuyerRecords).interfaceId) &&
                ERC165Checker.supportsInterface(registry, type(IBuyerCredentials).interfaceId) &&
                EIP7702Utils.fetchDelegate(registry) == address(0);
        if (!isRegistry) revert NotABuyerRegistry(registry);
        BUYERS = registry;
        POLICY = policy;
    }

    /// @inheritdoc IBuyerTierGate
    function getBuyerRegistry() external view returns (address registry) {
        return BUYERS;
    }

    /// @inheritdoc IBuyerTierGate
    function getTierPolicy() external view returns (bytes32 policy) {
        return POLICY;
    }

    /// @inheritdoc IBuyerTierGate
    function getTierScope() public view returns (bytes32 scope) {
        // Not an immutable value, because the clones of a gate would share it, and so would both chains after a fork.
        return keccak256(abi.encode("bilateral-tier", block.chainid, address(this)));
    }

    /// @dev Requires that a credential belongs to the caller, and is for this gate and for today.
    function _requireUse(IBuyerCredentials.TierCredential calldata credential) private view {
        if (credential.holder != msg.sender) revert CredentialOfAnother(credential.holder, msg.sender);
        if (credential.policy != POLICY) revert PolicyMismatch(credential.policy, POLICY);
        bytes32 scope = getTierScope();
        if (credential.scope != scope) revert ScopeMismatch(credential.scope, scope);
        (uint256 day, uint256 today) = (credential.issuedAt / 1 days, block.timestamp / 1 days);
        // Both are days, which stay equal for a long time.
        // slither-disable-next-line incorrect-equality
        if (day != today) revert EpochOver(day, today);
    }
}
