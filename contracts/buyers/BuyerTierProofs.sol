// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {ISemaphoreVerifier} from "@semaphore-protocol/contracts/interfaces/ISemaphoreVerifier.sol";
import {IdentityBound} from "../base/IdentityBound.sol";
import {IBuyerAttestation} from "../interfaces/IBuyerAttestation.sol";
import {IBuyerTierProofs} from "../interfaces/IBuyerTierProofs.sol";
import {BuyerTier} from "../libraries/BuyerScore.sol";
import {ViewCalls} from "../libraries/ViewCalls.sol";

/// @title Private proofs of a buyer's tier (Buyer Reputation Protocol, section 8.3)
/// @notice The manual is `IBuyerTierProofs`. It is separate from the buyer registry and has no owner.
contract BuyerTierProofs is IBuyerTierProofs, IERC165 {
    using ViewCalls for address;

    /// @dev The attestor's role in the registry, encoded as a word.
    uint256 private constant ATTESTOR = uint256(IBuyerAttestation.Role.Attestor);

    /// @dev The depth of the circuit, which is the same for every proof, so that a proof does not reveal the number of
    /// members.
    uint256 private constant DEPTH = 20;

    /// @dev The order of the scalar field of BN254, to which roots, nullifiers and leaves belong.
    uint256 private constant SCALAR_ORDER =
        21888242871839275222246405745257275088548364400416034343698204186575808495617;

    /// @dev The order of the base field of BN254, to which the coordinates of points belong.
    uint256 private constant BASE_ORDER = 21888242871839275222246405745257275088696311157297823662689037894645226208583;

    address private immutable BUYERS;

    address private immutable VERIFIER;

    /// @dev The roots for `Verified`, `Trusted` and `Premium`, for each policy and day.
    // Written by `postTierRoots` through a reference.
    // slither-disable-next-line uninitialized-state
    mapping(bytes32 policy => mapping(uint256 epoch => uint256[3] roots)) private _roots;

    /// @dev Reverts with the first applicable error: `NotABuyerRegistry`, `NotAVerifier`.
    /// @param registry The registry whose attestor posts the roots.
    /// @param verifier Semaphore v4's verifier.
    constructor(address registry, address verifier) {
        require(
            ERC165Checker.supportsInterface(registry, type(IBuyerAttestation).interfaceId) &&
                EIP7702Utils.fetchDelegate(registry) == address(0),
            NotABuyerRegistry(registry)
        );
        require(
            verifier.code.length != 0 && EIP7702Utils.fetchDelegate(verifier) == address(0),
            NotAVerifier(verifier)
        );
        BUYERS = registry;
        VERIFIER = verifier;
    }

    /// @inheritdoc IBuyerTierProofs
    function postTierRoots(uint64 epoch, bytes32 policy, uint256[3] calldata roots) external {
        uint256 attestor = BUYERS.ask(IBuyerAttestation.roleHolderOf.selector, ATTESTOR);
        require(uint160(msg.sender) == attestor, NotTheAttestor(msg.sender));
        uint256 today = block.timestamp / 1 days;
        // Both are days, which stay equal for a long time.
        // slither-disable-next-line incorrect-equality
        require(epoch == today, EpochOver(epoch, today));
        uint256[3] storage posted = _roots[policy][epoch];
        require(posted[0] == 0, RootsAlreadyPosted(policy, epoch));
        (uint256 verified, uint256 trusted, uint256 premium) = (roots[0], roots[1], roots[2]);
        _requireRoot(verified);
        _requireRoot(trusted);
        _requireRoot(premium);
        (posted[0], posted[1], posted[2]) = (verified, trusted, premium);
        emit TierRootsPosted(epoch, policy);
    }

    /// @inheritdoc IBuyerTierProofs
    function verifyTier(
        TierProof calldata proof,
        bytes32 policy,
        BuyerTier minimum,
        uint64 epoch,
        bytes32 scope,
        bytes32 message
    ) external view {
        uint256 today = block.timestamp / 1 days;
        // Both are days, which stay equal for a long time.
        // slither-disable-next-line incorrect-equality
        require(epoch == today || uint256(epoch) + 1 == today, EpochOver(epoch, today));
        uint256 root = minimum == BuyerTier.New ? 0 : _roots[policy][epoch][uint8(minimum) - 1];
        require(root != 0, UnknownRoot(policy, epoch, minimum));
        _requireInFields(proof);
        uint256[8] calldata p = proof.points;
        bool isValid = ISemaphoreVerifier(VERIFIER).verifyProof(
            [p[0], p[1]],
            [[p[2], p[3]], [p[4], p[5]]],
            [p[6], p[7]],
            [root, proof.nullifier, _signalOf(message), _signalOf(scope)],
            DEPTH
        );
        require(isValid, ProofRefused(proof.nullifier));
    }

    /// @inheritdoc IBuyerTierProofs
    function rootsOf(bytes32 policy, uint256 epoch) external view returns (uint256[3] memory roots) {
        return _roots[policy][epoch];
    }

    /// @inheritdoc IBuyerTierProofs
    function getBuyerRegistry() external view returns (address registry) {
        return BUYERS;
    }

    /// @inheritdoc IBuyerTierProofs
    function getIdentityRegistry() external view returns (address identityRegistry) {
        return IdentityBound(BUYERS).getIdentityRegistry();
    }

    /// @inheritdoc IBuyerTierProofs
    function getProofVerifier() external view returns (address verifier) {
        return VERIFIER;
    }

    /// @notice Returns whether the contract implements an interface (ERC-165).
    /// @param interfaceId The id of the interface.
    /// @return supported True if it does.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool supported) {
        return interfaceId == type(IBuyerTierProofs).interfaceId || interfaceId == type(IERC165).interfaceId;
    }

    /// @dev Reverts with `RootOutOfRange` for zero, and for a number that is not in the field.
    function _requireRoot(uint256 root) private pure {
        require(root != 0 && root < SCALAR_ORDER, RootOutOfRange(root));
    }

    /// @dev Reverts with `ProofMalformed` for a number that is not in its field.
    function _requireInFields(TierProof calldata proof) private pure {
        require(proof.nullifier < SCALAR_ORDER, ProofMalformed(proof.nullifier));
        for (uint256 i = 0; i < 8; ++i) {
            require(proof.points[i] < BASE_ORDER, ProofMalformed(proof.points[i]));
        }
    }

    /// @dev Returns a word as a public signal, as Semaphore derives it: its hash without the last byte.
    function _signalOf(bytes32 word) private pure returns (uint256 signal) {
        return uint256(keccak256(abi.encode(word))) >> 8;
    }
}
