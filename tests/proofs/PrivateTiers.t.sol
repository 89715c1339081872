// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {BuyerTierProofs} from "../../contracts/buyers/BuyerTierProofs.sol";
import {PrivateService} from "../../contracts/examples/PrivateService.sol";
import {IBuyerAttestation} from "../../contracts/interfaces/IBuyerAttestation.sol";
import {IBuyerTierProofs} from "../../contracts/interfaces/IBuyerTierProofs.sol";
import {BuyerTier} from "../../contracts/libraries/BuyerScore.sol";
import {Proof} from "./Proof.sol";

/// @title Buyer registry with any attestor, and tier proofs that pass or fail at will
/// @notice The answers come from its storage, which is symbolic in the proofs.
contract UnpredictableTiers {
    /// @notice The attestor.
    address public attestor;

    /// @notice True if a proof with a nullifier fails.
    mapping(uint256 nullifier => bool isRefused) public refuses;

    /// @notice The proof fails.
    error Refused();

    /// @notice Answers `IBuyerAttestation.roleHolderOf`.
    /// @return holder Any account.
    /// @return nominee Nobody.
    function roleHolderOf(IBuyerAttestation.Role) external view returns (address holder, address nominee) {
        return (attestor, address(0));
    }

    /// @notice Answers `IBuyerTierProofs.verifyTier`.
    /// @param proof The proof.
    function verifyTier(
        IBuyerTierProofs.TierProof calldata proof,
        bytes32,
        BuyerTier,
        uint64,
        bytes32,
        bytes32
    ) external view {
        require(!refuses[proof.nullifier], Refused());
    }

    /// @notice Answers as a contract with every interface but the invalid one (ERC-165).
    /// @param interfaceId An interface.
    /// @return supported True for all but `0xffffffff`.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool supported) {
        return interfaceId != 0xffffffff;
    }
}

/// @title No root of a tier is ever replaced, and only the attestor posts roots
/// @notice The proofs start from any storage in which a day has all its roots or none.
contract TierRootsProof is Proof {
    UnpredictableTiers private _buyers;
    BuyerTierProofs private _registry;

    function setUp() external {
        _buyers = new UnpredictableTiers();
        _registry = new BuyerTierProofs(address(_buyers), address(_buyers));
        SVM.enableSymbolicStorage(address(_buyers));
        SVM.enableSymbolicStorage(address(_registry));
    }

    function check_postTierRoots(
        address caller,
        uint64 epoch,
        bytes32 policy,
        uint256[3] calldata roots,
        bytes32 otherPolicy,
        uint256 otherEpoch
    ) external reachesItsEnd {
        uint256[3] memory former = _registry.rootsOf(otherPolicy, otherEpoch);
        bool hadAll = _and(_and(former[0] != 0, former[1] != 0), former[2] != 0);
        bool hadNone = _and(_and(former[0] == 0, former[1] == 0), former[2] == 0);
        VM.assume(_or(hadAll, hadNone));
        VM.prank(caller);
        _registry.postTierRoots(epoch, policy, roots);
        uint256[3] memory later = _registry.rootsOf(otherPolicy, otherEpoch);
        bool isSame = _and(_and(former[0] == later[0], former[1] == later[1]), former[2] == later[2]);
        bool isPosted = _and(policy == otherPolicy, epoch == otherEpoch);
        bool hasAll = _and(_and(later[0] != 0, later[1] != 0), later[2] != 0);
        _prove(caller == _buyers.attestor());
        _prove(_or(isSame, _and(hadNone, isPosted)));
        _prove(_or(!isPosted, _and(hadNone, hasAll)));
    }
}

/// @title A nullifier counts once
/// @notice The proofs start from any storage of the gate, for any answers to its proofs.
contract PrivateGateProof is Proof {
    UnpredictableTiers private _tiers;
    PrivateService private _registry;

    function setUp() external {
        _tiers = new UnpredictableTiers();
        _registry = new PrivateService(address(_tiers), 0);
        SVM.enableSymbolicStorage(address(_tiers));
        SVM.enableSymbolicStorage(address(_registry));
    }

    function check_serve(
        address caller,
        IBuyerTierProofs.TierProof calldata proof,
        uint64 epoch,
        bytes32 request,
        uint256 other
    ) external reachesItsEnd {
        bool wasUsed = _registry.isNullifierUsed(proof.nullifier);
        bool otherWasUsed = _registry.isNullifierUsed(other);
        VM.prank(caller);
        _registry.serve(proof, epoch, request);
        _prove(!wasUsed);
        _prove(!_tiers.refuses(proof.nullifier));
        _prove(_registry.isNullifierUsed(other) == _or(otherWasUsed, other == proof.nullifier));
    }
}
