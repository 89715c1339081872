// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {IBuyerAnchors} from "../interfaces/IBuyerAnchors.sol";
import {BuyerRoles} from "./BuyerRoles.sol";

/// @title On-chain anchors of a reputation service's state
/// @notice The manual is `IBuyerAnchors`.
abstract contract BuyerAnchors is BuyerRoles, IBuyerAnchors {
    mapping(uint256 epoch => bytes32 root) private _roots;

    /// @inheritdoc IBuyerAnchors
    function anchorRoot(uint64 epoch, bytes32 root) external {
        AnchorState memory state = _anchorState;
        require(msg.sender == state.anchorer, NotRoleHolder(Role.Anchorer, msg.sender));
        uint256 next = uint256(state.epoch) + 1;
        require(epoch == next, UnexpectedEpoch(epoch, next));
        require(root != 0, EmptyRoot());
        _anchorState = AnchorState(state.anchorer, uint96(next));
        _roots[epoch] = root;
        emit Anchored(epoch, root);
    }

    /// @inheritdoc IBuyerAnchors
    function getNextEpoch() external view returns (uint256 epoch) {
        return uint256(_anchorState.epoch) + 1;
    }

    /// @inheritdoc IBuyerAnchors
    function rootOf(uint256 epoch) external view returns (bytes32 root) {
        return _roots[epoch];
    }

    /// @inheritdoc IBuyerAnchors
    function verifyBuyer(
        BuyerState calldata state,
        uint256 epoch,
        bytes32[] calldata proof
    ) external view returns (bool anchored) {
        bytes32 root = _roots[epoch];
        require(root != 0, UnknownEpoch(epoch));
        return MerkleProof.verifyCalldata(proof, root, _leafOf(state));
    }

    /// @dev Returns the leaf of a state. Hashing twice distinguishes a leaf from an inner node.
    function _leafOf(BuyerState calldata state) private pure returns (bytes32 leaf) {
        return keccak256(bytes.concat(keccak256(abi.encode(state))));
    }
}
