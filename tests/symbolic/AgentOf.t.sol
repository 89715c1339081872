// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IdentityRegistry} from "../../contracts/identity/IdentityRegistry.sol";
import {Cheats} from "./Cheats.sol";

/// @title The identity registry, with a view of what the proofs are about
/// @dev Its conditions are joined by `either` and `both` rather than `||` and `&&`, whose jumps would double the number
/// of paths each time.
contract ObservedIdentityRegistry is IdentityRegistry {
    /// @dev Where the compiler puts the wallets of agents.
    uint256 private constant WALLETS_SLOT = 5;

    /// @notice The invariant: the account speaks as no agent, or as one that it owns or is the wallet of.
    /// @param account The account.
    /// @return holds Whether it holds of the account.
    function mayBeWhatItSpeaksAs(address account) external view returns (bool holds) {
        uint256 id = _account(account).word >> PRIMARY_AGENT_OFFSET;
        uint256 ownership = _token(id).ownership;
        bool isOwner = address(uint160(ownership)) == account;
        bool isExplicit = (ownership >> 160) & 1 == 1;
        return either(id == 0, either(isOwner, both(isExplicit, _storedWallet(id) == account)));
    }

    /// @notice What the registry keeps besides, and the proofs take for granted: ids have 64 bits at most, an agent that
    /// is not registered is a zero word, an owner has a balance.
    /// @param id The agent.
    /// @return sane Whether it holds of the agent.
    function isSane(uint256 id) external view returns (bool sane) {
        uint256 ownership = _token(id).ownership;
        address owner = address(uint160(ownership));
        bool hasBalance = uint32(_account(owner).word) != 0;
        return both(id >> 64 == 0, either(ownership == 0, both(owner != address(0), hasBalance)));
    }

    /// @notice The agent that an account speaks as.
    /// @param account The account.
    /// @return id The agent.
    function spokenAs(address account) external view returns (uint256 id) {
        return _account(account).word >> PRIMARY_AGENT_OFFSET;
    }

    function _storedWallet(uint256 id) private view returns (address wallet) {
        assembly ("memory-safe") {
            mstore(0x00, id)
            mstore(0x20, WALLETS_SLOT)
            wallet := shr(96, shl(96, sload(keccak256(0x00, 0x40))))
        }
    }

    function either(bool a, bool b) private pure returns (bool c) {
        assembly ("memory-safe") {
            c := or(a, b)
        }
    }

    function both(bool a, bool b) private pure returns (bool c) {
        assembly ("memory-safe") {
            c := and(a, b)
        }
    }
}

/// @title A wallet that consents to everything
contract Consents is IERC1271 {
    /// @inheritdoc IERC1271
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4 magicValue) {
        return IERC1271.isValidSignature.selector;
    }
}

/// @title Nobody speaks as an agent that it neither owns nor is the wallet of
/// @notice The invariant is that `agentOf(a) == id && id != 0` implies that `a` owns `id` or is its wallet. It holds of
/// the empty registry, where nobody speaks as any. Each proof shows of one function, for any storage, caller, arguments
/// and account, that it holds of the account after the call if it did before.
contract AgentOfProof is Cheats {
    /// @dev Where the compiler puts the domains of agents and the id of the next one.
    uint256 private constant DOMAINS_SLOT = 0;
    uint256 private constant NEXT_AGENT_ID_SLOT = 2;

    ObservedIdentityRegistry private _registry;
    address private _consents;

    /// @dev Each proof assumes the invariant of `account`, calls the registry as `caller`, and asserts the invariant.
    modifier keepsInvariant(address account, address caller, uint256 id) {
        VM.assume(account != address(0));
        VM.assume(_registry.isSane(id));
        VM.assume(_registry.isSane(_registry.spokenAs(account)));
        VM.assume(_registry.mayBeWhatItSpeaksAs(account));
        VM.prank(caller);
        _;
        assert(_registry.mayBeWhatItSpeaksAs(account));
    }

    function setUp() public {
        _registry = new ObservedIdentityRegistry();
        _consents = address(new Consents());
        SVM.enableSymbolicStorage(address(_registry));
    }

    function check_register(address account, address caller, uint64 next) public {
        _assumeNext(next);
        _registerAs(account, caller, next);
    }

    function check_registerWithUri(address account, address caller, uint64 next) public {
        _assumeNext(next);
        _registerWithUriAs(account, caller, next);
    }

    function check_newAgent(address account, address caller, uint64 next) public {
        _assumeNext(next);
        _newAgentAs(account, caller, next);
    }

    function check_updateAgent(
        address account,
        address caller,
        uint64 id,
        address to
    ) public keepsInvariant(account, caller, id) {
        _registry.updateAgent(id, "", to);
    }

    function check_setPrimaryAgent(
        address account,
        address caller,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.setPrimaryAgent(id);
    }

    function check_setAgentWallet(
        address account,
        address caller,
        uint64 id,
        uint256 deadline
    ) public keepsInvariant(account, caller, id) {
        _registry.setAgentWallet(id, _consents, deadline, "");
    }

    function check_unsetAgentWallet(
        address account,
        address caller,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.unsetAgentWallet(id);
    }

    function check_transferFrom(
        address account,
        address caller,
        address from,
        address to,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.transferFrom(from, to, id);
    }

    function check_safeTransferFrom(
        address account,
        address caller,
        address from,
        address to,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.safeTransferFrom(from, to, id);
    }

    function check_approve(
        address account,
        address caller,
        address approved,
        uint64 id
    ) public keepsInvariant(account, caller, id) {
        _registry.approve(approved, id);
    }

    function check_setApprovalForAll(
        address account,
        address caller,
        address operator,
        bool isApproved
    ) public keepsInvariant(account, caller, 0) {
        _registry.setApprovalForAll(operator, isApproved);
    }

    function check_setAgentURI(address account, address caller, uint64 id) public keepsInvariant(account, caller, id) {
        _registry.setAgentURI(id, "ipfs://registration");
    }

    function check_setMetadata(
        address account,
        address caller,
        uint64 id,
        bytes32 value
    ) public keepsInvariant(account, caller, id) {
        _registry.setMetadata(id, "key", abi.encodePacked(value));
    }

    function _registerAs(address account, address caller, uint256 next) private keepsInvariant(account, caller, next) {
        _registry.register();
    }

    function _registerWithUriAs(
        address account,
        address caller,
        uint256 next
    ) private keepsInvariant(account, caller, next) {
        _registry.register("ipfs://registration");
    }

    function _newAgentAs(address account, address caller, uint256 next) private keepsInvariant(account, caller, next) {
        _registry.newAgent("agent.example", caller);
    }

    function _assumeNext(uint64 next) private {
        VM.assume(next != 0);
        VM.store(address(_registry), bytes32(NEXT_AGENT_ID_SLOT), bytes32(uint256(next)));
    }
}
