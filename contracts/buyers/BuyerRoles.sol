// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IBuyerAttestation} from "../interfaces/IBuyerAttestation.sol";

/// @title The roles of the buyer reputation registry
/// @notice The manual is `IBuyerAttestation`.
abstract contract BuyerRoles is IBuyerAttestation {
    /// @dev The anchorer and the number of anchors share a word, so that posting an anchor updates only one word.
    /// ```
    ///   255      160 | 159                0
    ///   epoch        | anchorer            |
    /// ```
    struct AnchorState {
        address anchorer;
        uint96 epoch;
    }

    AnchorState internal _anchorState;

    address internal _attestor;

    mapping(Role role => address account) private _nominees;

    /// @dev Reverts unless the caller holds a role.
    modifier onlyRole(Role role) {
        _requireRole(role);
        _;
    }

    /// @dev Reverts with `RoleWithoutHolder` for a zero address.
    constructor(address attestor, address anchorer) {
        require(attestor != address(0), RoleWithoutHolder(Role.Attestor));
        require(anchorer != address(0), RoleWithoutHolder(Role.Anchorer));
        _setHolder(Role.Attestor, attestor);
        _setHolder(Role.Anchorer, anchorer);
    }

    /// @inheritdoc IBuyerAttestation
    function setNominee(address nominee, Role role) external onlyRole(role) {
        _nominees[role] = nominee;
        emit SuccessorNominated(role, msg.sender, nominee);
    }

    /// @inheritdoc IBuyerAttestation
    function takeRole(Role role) external {
        // Calls can be simulated from the zero address, which is also the value for a role without a nominee.
        require(msg.sender == _nominees[role] && msg.sender != address(0), NotNominated(role, msg.sender));
        delete _nominees[role];
        _setHolder(role, msg.sender);
    }

    /// @inheritdoc IBuyerAttestation
    function roleHolderOf(Role role) external view returns (address holder, address nominee) {
        return (_holderOf(role), _nominees[role]);
    }

    function _holderOf(Role role) internal view returns (address holder) {
        return role == Role.Attestor ? _attestor : _anchorState.anchorer;
    }

    /// @dev Reverts unless the caller is the attestor. A separate function, because every attestation runs it.
    function _requireAttestor() internal view {
        require(msg.sender == _attestor, NotRoleHolder(Role.Attestor, msg.sender));
    }

    function _setHolder(Role role, address holder) private {
        emit RoleTaken(role, _holderOf(role), holder);
        if (role == Role.Attestor) _attestor = holder;
        else _anchorState.anchorer = holder;
    }

    function _requireRole(Role role) private view {
        require(msg.sender == _holderOf(role), NotRoleHolder(role, msg.sender));
    }
}
