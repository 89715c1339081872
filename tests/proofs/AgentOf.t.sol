// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IIdentityRegistry} from "../../contracts/interfaces/IIdentityRegistry.sol";
import {ObservedIdentityRegistry} from "./ObservedIdentityRegistry.sol";
import {Proof} from "./Proof.sol";
import {UnpredictableWallet, WatchingReceiver} from "./Parties.sol";

/// @title An account's primary agent is an agent that it owns or serves as wallet
/// @notice The invariants of the identity registry hold for an empty registry. Each proof covers one function: if the
/// invariants hold before a call, they hold after it, for any other storage:
///
/// - `agentOf(a) == id && id != 0` implies that `a` owns `id` or is its wallet;
/// - the registered agents have the ids 1, 2, … up to their number;
/// - a call transfers at most its own agent, and changes balances accordingly. So a balance is the number of agents
///   that an account owns, and every owner's balance is above zero;
/// - the registry stores a wallet only for an agent with an explicit wallet.
///
/// Each proof also states every change to the words of owners, wallets, balances and primary agents. The call changes
/// its own agent as `Outcome` says, and no other agent. An account keeps its primary agent, with two exceptions: the
/// call makes the agent its primary agent, or the account stops being owner or wallet of its primary agent, and then
/// has no primary agent.
///
/// Callers and all other accounts are arbitrary, and may be equal. Accounts that register or become wallets are odd
/// numbers, so that the prover sees that they are not zero. The registry only compares addresses with zero and with
/// each other. Ids have 64 bits; no chain has the gas to exceed them. Texts have fixed lengths: the length of a text
/// changes its encoding, but no slot and no other effect.
contract AgentOfProof is Proof {
    /// @dev The state of the agent after a call.
    /// @param id The agent.
    /// @param ownership The word with its owner and the bit `EXPLICIT_WALLET`.
    /// @param wallet Its wallet.
    /// @param speaker The account that gets the agent as primary agent; zero: no account.
    struct Outcome {
        uint256 id;
        uint256 ownership;
        address wallet;
        address speaker;
    }

    /// @dev The slots of the registry's `_domains` and `_nextAgentId`.
    uint256 private constant DOMAINS_SLOT = 0;
    uint256 private constant NEXT_AGENT_ID_SLOT = 2;

    /// @dev The bit of a token's word for an explicit wallet.
    uint256 private constant EXPLICIT_WALLET = 1 << 160;

    ObservedIdentityRegistry private _registry;
    UnpredictableWallet private _wallet;
    WatchingReceiver private _receiver;

    /// @dev Assumes the invariants, runs a call of the caller, and asserts the invariants and the outcome of the call.
    modifier keepsInvariants(address caller, Outcome memory outcome) {
        uint256 id = outcome.id;
        (address account, uint256 otherId) = (SVM.createAddress("account"), SVM.createUint(64, "otherId"));
        uint256 firstFree = _registry.nextAgentId();
        uint256 primary = _registry.agentOf(account);
        VM.assume(account != address(0) && firstFree != 0 && firstFree < type(uint64).max);
        VM.assume(primary < firstFree && _registry.speaksRightly(account));
        VM.assume(_registry.isStoredRightly(id) && _registry.isStoredRightly(otherId));
        VM.assume(_registry.isStoredRightly(primary));
        VM.assume(_registry.isCounted(id));
        address owner = _registry.ownerOrZero(id);
        uint256 balance = _registry.tokensOf(account);
        (uint256 ownership, address wallet) = (_registry.ownershipOf(otherId), _registry.walletOf(otherId));
        _receiver.watch(_registry, account);
        VM.prank(caller);
        _;
        // One statement without branches, because each branch would double the paths.
        bool counts =
            _registry.tokensOf(account) + _asNumber(owner == account) ==
                balance + _asNumber(_registry.ownerOrZero(id) == account);
        bool stays = _and(
            _registry.ownershipOf(otherId) == _select(otherId == id, outcome.ownership, ownership),
            _registry.walletOf(otherId) ==
                address(uint160(_select(otherId == id, uint160(outcome.wallet), uint160(wallet))))
        );
        bool isOwnerOrWallet = _or(account == address(uint160(outcome.ownership)), account == outcome.wallet);
        uint256 kept = _select(_or(primary != id, isOwnerOrWallet), primary, 0);
        bool speaks = _registry.agentOf(account) == _select(account == outcome.speaker, id, kept);
        bool invariants = _and(
            _and(_registry.speaksRightly(account), _registry.isStoredRightly(otherId)),
            _registry.nextAgentId() >= firstFree
        );
        _prove(_and(_and(invariants, counts), _and(stays, speaks)));
    }

    function setUp() public {
        _registry = new ObservedIdentityRegistry();
        _wallet = new UnpredictableWallet();
        _receiver = new WatchingReceiver();
        SVM.enableSymbolicStorage(address(_registry));
        VM.store(address(_registry), bytes32(NEXT_AGENT_ID_SLOT), SVM.createBytes32("nextAgentId"));
    }

    function check_register(
        uint160 caller
    ) public reachesItsEnd keepsInvariants(address(caller | 1), _registered(address(caller | 1))) {
        _registry.register();
    }

    function check_registerWithShortURI(
        uint160 caller
    ) public reachesItsEnd keepsInvariants(address(caller | 1), _registered(address(caller | 1))) {
        _registry.register("ipfs://short");
    }

    function check_registerWithLongURI(
        uint160 caller
    ) public reachesItsEnd keepsInvariants(address(caller | 1), _registered(address(caller | 1))) {
        _registry.register("ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oc");
    }

    function check_registerWithMetadata(
        uint160 caller,
        bytes32 value
    ) public reachesItsEnd keepsInvariants(address(caller | 1), _registered(address(caller | 1))) {
        IIdentityRegistry.MetadataEntry[] memory entries = new IIdentityRegistry.MetadataEntry[](2);
        entries[0] = IIdentityRegistry.MetadataEntry("category", abi.encodePacked(uint8(uint256(value))));
        entries[1] = IIdentityRegistry.MetadataEntry("agentName", abi.encodePacked(value));
        _registry.register("ipfs://short", entries);
    }

    function check_newAgent(
        bytes13 domain,
        uint160 caller
    ) public reachesItsEnd keepsInvariants(address(caller | 1), _registered(address(caller | 1))) {
        _registry.newAgent(string(abi.encodePacked(domain)), address(caller | 1));
    }

    function check_updateAgentWithoutDomain(
        address caller,
        uint64 id,
        bytes13 domain,
        address to
    ) public reachesItsEnd keepsInvariants(caller, to == address(0) ? _unchanged(id) : _handedOver(id, to)) {
        _storeDomain(id, domain);
        _registry.updateAgent(id, "", to);
    }

    function check_updateAgentWithDomain(
        address caller,
        uint64 id,
        bytes13 formerDomain,
        bytes14 domain,
        address to
    ) public reachesItsEnd keepsInvariants(caller, to == address(0) ? _unchanged(id) : _handedOver(id, to)) {
        _storeDomain(id, formerDomain);
        _registry.updateAgent(id, string(abi.encodePacked(domain)), to);
    }

    function check_releaseAgentDomain(
        address caller,
        uint64 id,
        bytes13 domain
    ) public reachesItsEnd keepsInvariants(caller, _unchanged(id)) {
        _storeDomain(id, domain);
        _registry.releaseAgentDomain(id);
    }

    function check_setPrimaryAgent(
        address caller,
        uint64 id
    ) public reachesItsEnd keepsInvariants(caller, _spokenFor(id, caller)) {
        _registry.setPrimaryAgent(id);
    }

    function check_setAgentWalletWithSignature(
        address caller,
        uint64 id,
        uint160 wallet,
        uint256 deadline,
        bytes32 r,
        bytes32 s,
        uint8 v
    ) public reachesItsEnd keepsInvariants(caller, _withWallet(id, address(wallet | 1))) {
        address newWallet = address(wallet | 1);
        VM.assume(newWallet != address(_registry) && newWallet != address(_wallet) && newWallet != address(this));
        _registry.setAgentWallet(id, newWallet, deadline, abi.encodePacked(r, s, v));
    }

    function check_setAgentWalletToContract(
        address caller,
        uint64 id,
        uint256 deadline,
        bytes32 signature
    ) public reachesItsEnd keepsInvariants(caller, _withWallet(id, address(_wallet))) {
        _registry.setAgentWallet(id, address(_wallet), deadline, abi.encodePacked(signature));
    }

    function check_unsetAgentWallet(
        address caller,
        uint64 id
    ) public reachesItsEnd keepsInvariants(caller, _withWallet(id, address(0))) {
        _registry.unsetAgentWallet(id);
    }

    function check_setAgentURI(address caller, uint64 id) public reachesItsEnd keepsInvariants(caller, _unchanged(id)) {
        _registry.setAgentURI(id, "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oc");
    }

    function check_setMetadata(
        address caller,
        uint64 id,
        bytes32 value
    ) public reachesItsEnd keepsInvariants(caller, _unchanged(id)) {
        _registry.setMetadata(id, "key", abi.encodePacked(value));
    }

    function check_approve(
        address caller,
        address approved,
        uint64 id
    ) public reachesItsEnd keepsInvariants(caller, _unchanged(id)) {
        _registry.approve(approved, id);
    }

    function check_setApprovalForAll(
        address caller,
        address operator,
        bool isApproved
    ) public reachesItsEnd keepsInvariants(caller, _unchanged(0)) {
        _registry.setApprovalForAll(operator, isApproved);
    }

    function check_transferFrom(
        address caller,
        address from,
        address to,
        uint64 id
    ) public reachesItsEnd keepsInvariants(caller, _handedOver(id, to)) {
        _registry.transferFrom(from, to, id);
    }

    /// @dev The receiver checks the final state in its callback, because the callback is the last step of the transfer.
    function check_safeTransferFrom(
        address caller,
        address from,
        uint64 id
    ) public reachesItsEnd keepsInvariants(caller, _handedOver(id, address(_receiver))) {
        _registry.safeTransferFrom(from, address(_receiver), id);
        _prove(_receiver.saw());
    }

    function check_safeTransferFromWithData(
        address caller,
        address from,
        uint64 id,
        bytes32 data
    ) public reachesItsEnd keepsInvariants(caller, _handedOver(id, address(_receiver))) {
        _registry.safeTransferFrom(from, address(_receiver), id, abi.encodePacked(data));
        _prove(_receiver.saw());
    }

    function check_viewsOfTheProofsSayWhatTheRegistrySays(uint256 id, address account) public view reachesItsEnd {
        VM.assume(account != address(0) && _registry.nextAgentId() != 0);
        _prove(_registry.walletOf(id) == _registry.getAgentWallet(id));
        _prove(_registry.tokensOf(account) == _registry.balanceOf(account));
        _prove(_registry.nextAgentId() - 1 == _registry.getAgentCount());
        _prove((_registry.ownerOrZero(id) != address(0)) == _registry.agentExists(id));
    }

    /// @dev Stores the domain of an agent, as Solady packs a short text.
    function _storeDomain(uint256 id, bytes13 domain) private {
        VM.store(address(_registry), keccak256(abi.encode(id, DOMAINS_SLOT)), bytes32(domain) | bytes32(uint256(13)));
    }

    function _registered(address owner) private view returns (Outcome memory outcome) {
        return Outcome(_registry.nextAgentId(), uint160(owner), owner, _ifSilent(owner));
    }

    function _withWallet(uint256 id, address wallet) private view returns (Outcome memory outcome) {
        return Outcome(id, EXPLICIT_WALLET | _registry.ownershipOf(id), wallet, _ifSilent(wallet));
    }

    /// @dev Returns the outcome of a call that keeps the owner and the wallet.
    function _spokenFor(uint256 id, address speaker) private view returns (Outcome memory outcome) {
        return Outcome(id, _registry.ownershipOf(id), _registry.walletOf(id), speaker);
    }

    function _unchanged(uint256 id) private view returns (Outcome memory outcome) {
        return _spokenFor(id, address(0));
    }

    /// @dev Returns the account if it has no primary agent, else zero.
    function _ifSilent(address account) private view returns (address speaker) {
        return address(uint160(_select(_registry.agentOf(account) == 0, uint160(account), 0)));
    }

    function _handedOver(uint256 id, address to) private pure returns (Outcome memory outcome) {
        return Outcome(id, EXPLICIT_WALLET | uint160(to), address(0), address(0));
    }

    function _asNumber(bool condition) private pure returns (uint256 one) {
        assembly ("memory-safe") {
            one := condition
        }
    }
}
