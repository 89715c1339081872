// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {CompanionDirectory} from "../../contracts/identity/CompanionDirectory.sol";
import {Proof} from "./Proof.sol";
import {UnpredictableRegistry} from "./UnpredictableRegistry.sol";

/// @title Whoever speaks as an agent is its owner or wallet, and no call takes a choice or a proof away
/// @notice The proofs start from any storage of the companion, and so cover any history, any caller, and any answer of
/// the identity registry. Only `setPrimaryAgent` and `proveAgent` can write: the compiler checks that all other
/// functions are views.
contract CompanionDirectoryProof is Proof {
    /// @dev The slots of the companion's variables.
    uint256 private constant CHOSEN_AGENTS_SLOT = 0;
    uint256 private constant AGENT_COUNT_SLOT = 1;

    UnpredictableRegistry private _identity;
    CompanionDirectory private _registry;

    /// @dev Runs a call. Asserts that the chooser has chosen an agent, that no other account's choice changed, and that
    /// the count is the given one.
    modifier changesOnly(address account, address chooser, uint256 choice, uint256 count) {
        uint256 former = _chosen(account);
        _;
        _prove(_chosen(account) == _select(account == chooser, choice, former));
        _prove(_count() == count);
    }

    function setUp() external {
        _identity = new UnpredictableRegistry();
        _registry = new CompanionDirectory(address(_identity));
        SVM.enableSymbolicStorage(address(_identity));
        SVM.enableSymbolicStorage(address(_registry));
    }

    function check_setPrimaryAgent(
        address caller,
        address account,
        uint256 id
    ) external reachesItsEnd changesOnly(account, caller, id, _count()) {
        VM.prank(caller);
        _registry.setPrimaryAgent(id);
        _prove(id != 0);
        _prove(_isEntitled(caller, id));
        _prove(_registry.agentOf(caller) == id);
    }

    function check_proveAgent(
        address caller,
        address account,
        uint256 id
    ) external reachesItsEnd changesOnly(account, account, _chosen(account), _select(id > _count(), id, _count())) {
        uint256 count = _count();
        VM.prank(caller);
        uint256 result = _registry.proveAgent(id);
        _prove(_or(id <= count, _identity.owners(id) != 0));
        _prove(result == _count());
    }

    function check_whoeverSpeaksAsAnAgentChoseItAndIsItsOwnerOrWallet(address account) external view reachesItsEnd {
        VM.assume(account != address(0)); // it chooses no agent, as `check_setPrimaryAgent` proves
        uint256 id = _registry.agentOf(account);
        _prove(_or(id == 0, id == _chosen(account)));
        _prove(_or(id == 0, _isEntitled(account, id)));
    }

    function check_whoeverSpeaksAsNoneChoseNoneOrIsNeitherOwnerNorWallet(address account) external view reachesItsEnd {
        uint256 id = _chosen(account);
        VM.assume(account != address(0) && _registry.agentOf(account) == 0);
        _prove(_or(id == 0, !_isEntitled(account, id)));
    }

    function check_ratingIsResolvedToTheRatersAgentAndTheSubjectsExistence(
        address rater,
        uint256 subjectId
    ) external view reachesItsEnd {
        (uint256 raterId, bool exists) = _registry.resolveRating(rater, subjectId);
        _prove(raterId == _registry.agentOf(rater));
        _prove(exists == _and(!_identity.refuses(subjectId), _identity.owners(subjectId) != 0));
    }

    function check_ownerIsTheOneThatTheIdentityRegistryNames(uint256 id) external view reachesItsEnd {
        address owner = _registry.ownerOf(id);
        _prove(uint160(owner) == _identity.owners(id));
        _prove(owner != address(0));
    }

    function check_accountsThatMayActAreThoseOfTheToken(address spender, uint256 id) external view reachesItsEnd {
        VM.assume(spender != address(0));
        bool mayAct = _registry.isAuthorizedOrOwner(spender, id);
        uint256 owner = _identity.owners(id);
        bool isApproved = _or(
            _identity.operators(owner, uint160(spender)) == 1,
            _identity.approved(id) == uint160(spender)
        );
        _prove(mayAct == _or(owner == uint160(spender), isApproved));
    }

    function check_countIsWhereTheProofsLook() external view reachesItsEnd {
        _prove(_registry.getAgentCount() == _count());
    }

    /// @dev Returns true if the identity registry says that the account is the owner or the wallet of an agent that has
    /// an owner.
    function _isEntitled(address account, uint256 id) private view returns (bool entitled) {
        uint256 owner = _identity.owners(id);
        bool isWallet = _and(_identity.wallets(id) == uint160(account), account != address(0));
        return _and(_and(!_identity.refuses(id), owner != 0), _or(owner == uint160(account), isWallet));
    }

    function _chosen(address account) private view returns (uint256 id) {
        return uint256(VM.load(address(_registry), keccak256(abi.encode(account, CHOSEN_AGENTS_SLOT))));
    }

    function _count() private view returns (uint256 count) {
        return uint256(VM.load(address(_registry), bytes32(AGENT_COUNT_SLOT)));
    }
}
