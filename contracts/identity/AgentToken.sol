// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {ERC721Utils} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Utils.sol";
import {ERC721} from "solady/src/tokens/ERC721.sol";
import {IAgentToken} from "../interfaces/IAgentToken.sol";

/// @title ERC-721 token of the agents
/// @notice Solady's ERC-721, with the errors and checks that clients know from OpenZeppelin's implementation.
/// @dev Solady leaves bits unused next to a token's owner and an account's balance. `Token` and `Account` declare how
/// this contract uses them. They overlay Solady's own words, so a registration or transfer writes them at no extra
/// cost.
abstract contract AgentToken is ERC721, IERC721Errors, IAgentToken {
    /// @dev A token, as Solady's ERC-721 stores it:
    /// ```
    ///              255      161   160        159                    0
    ///   ownership  |  unused   |  explicit  |  owner's address      |
    ///   approved   |  unused                |  approved address     |
    /// ```
    /// If `explicit` is 0, the agent's wallet is its owner, as at registration; if it is 1, the identity registry
    /// stores the wallet.
    struct Token {
        uint256 ownership;
        address approved;
    }

    /// @dev An account, as Solady's ERC-721 stores it:
    /// ```
    ///         255                              32 31             0
    ///   word  |  primary agent's id (0: none)   |  tokens owned  |
    /// ```
    struct Account {
        uint256 word;
    }

    /// @dev The bit `explicit` of `Token.ownership`: the owner no longer implies the wallet.
    uint256 internal constant EXPLICIT_WALLET = 1 << 160;

    /// @dev The lowest bit of the primary agent in `Account.word`.
    uint256 internal constant PRIMARY_AGENT_OFFSET = 32;

    /// @dev The seed from which Solady's ERC-721 derives its slots, as documented there.
    uint256 private constant SOLADY_SLOT_SEED = 0x7d8825530a5a2e7a << 192;

    /// @dev Reverts if the call sends ether, which the registry could never return. Solady makes the functions payable
    /// to save gas.
    modifier refusesEther() {
        require(msg.value == 0, EtherNotAccepted(msg.value));
        _;
    }

    /// @inheritdoc ERC721
    // No ether can be locked, because every payable function of Solady rejects it here.
    // slither-disable-next-line locked-ether
    function approve(address account, uint256 id) public payable override refusesEther {
        address owner = ownerOf(id);
        require(msg.sender == owner || isApprovedForAll(owner, msg.sender), ERC721InvalidApprover(msg.sender));
        _approve(account, id);
    }

    /// @inheritdoc ERC721
    function setApprovalForAll(address operator, bool isApproved) public override {
        require(msg.sender != address(0), ERC721InvalidApprover(address(0)));
        require(operator != address(0), ERC721InvalidOperator(address(0)));
        super.setApprovalForAll(operator, isApproved);
    }

    /// @inheritdoc ERC721
    function transferFrom(address from, address to, uint256 id) public payable override refusesEther {
        require(to != address(0), ERC721InvalidReceiver(address(0)));
        address owner = ownerOf(id);
        require(_isAuthorized(owner, msg.sender, id), ERC721InsufficientApproval(msg.sender, id));
        require(owner == from, ERC721IncorrectOwner(from, id, owner));
        _handOver(from, to, id);
    }

    /// @inheritdoc ERC721
    function safeTransferFrom(address from, address to, uint256 id) public payable override {
        transferFrom(from, to, id);
        ERC721Utils.checkOnERC721Received(msg.sender, from, to, id, "");
    }

    /// @inheritdoc ERC721
    function safeTransferFrom(address from, address to, uint256 id, bytes calldata data) public payable override {
        transferFrom(from, to, id);
        ERC721Utils.checkOnERC721Received(msg.sender, from, to, id, data);
    }

    /// @inheritdoc ERC721
    function ownerOf(uint256 id) public view override returns (address owner) {
        owner = _ownerOf(id);
        require(owner != address(0), ERC721NonexistentToken(id));
    }

    /// @inheritdoc ERC721
    function balanceOf(address owner) public view override returns (uint256 balance) {
        require(owner != address(0), ERC721InvalidOwner(address(0)));
        return super.balanceOf(owner);
    }

    /// @inheritdoc ERC721
    function getApproved(uint256 id) public view override returns (address account) {
        ownerOf(id);
        return _getApproved(id);
    }

    /// @inheritdoc ERC721
    function name() public pure override returns (string memory) {
        return "AgentIdentity";
    }

    /// @inheritdoc ERC721
    function symbol() public pure override returns (string memory) {
        return "AGENT";
    }

    /// @dev Transfers a token like Solady's `_transfer`, and updates the other fields in the same words. The wallet is
    /// explicit from now on, and `_beforeHandOver` clears it. The agent is no longer the sender's primary agent, unless
    /// the sender is also the receiver. Solady's own setters would cost 850 gas more. `from` owns the token and `to` is
    /// not zero.
    function _handOver(address from, address to, uint256 id) internal {
        Token storage token = _token(id);
        _beforeHandOver(to, id, token.ownership);
        token.ownership = EXPLICIT_WALLET | uint160(to);
        if (token.approved != address(0)) token.approved = address(0);

        Account storage sender = _account(from);
        uint256 senderWord = sender.word - 1;
        if (senderWord >> PRIMARY_AGENT_OFFSET == id && from != to) senderWord = uint32(senderWord);
        sender.word = senderWord;

        Account storage receiver = _account(to);
        uint256 receiverWord = receiver.word + 1;
        require(uint32(receiverWord) != 0, AccountBalanceOverflow());
        receiver.word = receiverWord;
        emit Transfer(from, to, id);
    }

    /// @dev Runs before every transfer, including one from an owner to itself.
    function _beforeHandOver(address to, uint256 id, uint256 ownership) internal virtual;

    /// @dev Returns true if `spender` may act for the token `id`, which exists and belongs to `owner`. The zero address
    /// may not, although it is stored as the approved address of a token without an approval.
    function _isAuthorized(address owner, address spender, uint256 id) internal view returns (bool authorized) {
        return
            spender == owner ||
            isApprovedForAll(owner, spender) ||
            (spender == _getApproved(id) && spender != address(0));
    }

    /// @dev Returns Solady's slots of a token.
    function _token(uint256 id) internal pure returns (Token storage token) {
        assembly ("memory-safe") {
            mstore(0x00, id)
            mstore(0x1c, SOLADY_SLOT_SEED)
            token.slot := add(id, add(id, keccak256(0x00, 0x20)))
        }
    }

    /// @dev Returns Solady's slot of an account.
    function _account(address owner) internal pure returns (Account storage account) {
        assembly ("memory-safe") {
            mstore(0x1c, SOLADY_SLOT_SEED)
            mstore(0x00, owner)
            account.slot := keccak256(0x0c, 0x1c)
        }
    }
}
