// SPDX-License-Identifier: MIT
pragma solidity ^0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @title Brings the money of a deposit to the contract of channels
interface ICollector {
    /// @notice Moves money to the caller.
    /// @param payer The payer of the channel.
    /// @param token The token.
    /// @param amount The amount.
    /// @param channelId The channel.
    /// @param data What the collector needs beside.
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external;
}

/// @title Channels of x402's scheme `batch-settlement`
/// @notice Stands at its own address by `anvil_setCode`, so it has no constructor and no immutables.
contract MockChannels {
    /// @notice The parties and terms of a channel. Their hash is its id.
    struct ChannelConfig {
        address payer;
        address payerAuthorizer;
        address receiver;
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    /// @notice What a payer signs: the most that may be claimed in total.
    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    /// @notice A voucher, and the total that is claimed by it.
    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    /// @notice What was paid into a channel, and claimed from it.
    struct Channel {
        uint128 balance;
        uint128 totalClaimed;
    }

    /// @notice What a receiver claimed, and what it was paid out.
    struct Receiver {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    /// @notice A withdrawal that the payer announced.
    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    bytes32 private constant DOMAIN = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant CONFIG = keccak256(
        // solhint-disable-next-line max-line-length
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 private constant VOUCHER = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");

    /// @notice Returns a channel's amounts.
    mapping(bytes32 channelId => Channel) public channels;
    /// @notice Returns a receiver's amounts.
    mapping(address receiver => mapping(address token => Receiver)) public receivers;
    /// @notice Returns a channel's announced withdrawal.
    mapping(bytes32 channelId => Withdrawal) public pendingWithdrawals;

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    /// @notice The caller, the signature, the amount, the time or the token's transfer is invalid.
    /// @param reason Which of them.
    error Invalid(string reason);

    /// @notice Makes several calls of this contract as the caller.
    /// @param data The calls.
    function multicall(bytes[] calldata data) external {
        for (uint256 i = 0; i < data.length; ++i) {
            Address.functionDelegateCall(address(this), data[i]);
        }
    }

    /// @notice Pays into a channel. Anybody may, with any collector.
    /// @param config The channel.
    /// @param amount The amount.
    /// @param collector The contract that brings the money.
    /// @param data What it needs.
    function deposit(
        ChannelConfig calldata config,
        uint128 amount,
        ICollector collector,
        bytes calldata data
    ) external {
        bytes32 id = getChannelId(config);
        Channel storage channel = channels[id];
        uint256 before = IERC20(config.token).balanceOf(address(this));
        collector.collect(config.payer, config.token, amount, id, data);
        require(IERC20(config.token).balanceOf(address(this)) - before == amount, Invalid("amount"));
        if (channel.balance == channel.totalClaimed) emit ChannelCreated(id, config);
        channel.balance += amount;
        emit Deposited(id, msg.sender, amount, channel.balance);
    }

    /// @notice Claims by vouchers. A total that was claimed already changes and logs nothing.
    /// @param claims The claims.
    function claim(VoucherClaim[] calldata claims) external {
        for (uint256 i = 0; i < claims.length; ++i) {
            ChannelConfig calldata config = claims[i].voucher.channel;
            require(_isReceiver(config), Invalid("caller"));
            bytes32 id = getChannelId(config);
            uint128 total = claims[i].totalClaimed;
            uint128 most = claims[i].voucher.maxClaimableAmount;
            Channel storage channel = channels[id];
            require(total <= most && total <= channel.balance, Invalid("amount"));
            bytes32 digest = _digest(keccak256(abi.encode(VOUCHER, id, most)));
            address signer = config.payerAuthorizer == address(0) ? config.payer : config.payerAuthorizer;
            bytes memory signature = claims[i].signature;
            require(SignatureChecker.isValidSignatureNow(signer, digest, signature), Invalid("signature"));
            if (total <= channel.totalClaimed) continue;
            uint128 delta = total - channel.totalClaimed;
            channel.totalClaimed = total;
            receivers[config.receiver][config.token].totalClaimed += delta;
            emit Claimed(id, msg.sender, delta, total);
        }
    }

    /// @notice Pays a receiver what it claimed from all channels. Anybody may.
    /// @param receiver The receiver.
    /// @param token The token.
    function settle(address receiver, address token) external {
        Receiver storage amounts = receivers[receiver][token];
        uint128 amount = amounts.totalClaimed - amounts.totalSettled;
        if (amount == 0) return;
        amounts.totalSettled = amounts.totalClaimed;
        require(IERC20(token).transfer(receiver, amount), Invalid("transfer"));
        emit Settled(receiver, token, msg.sender, amount);
    }

    /// @notice Pays back what was not claimed. For the receiver's side.
    /// @param config The channel.
    /// @param amount The most to pay back.
    function refund(ChannelConfig calldata config, uint128 amount) external {
        require(_isReceiver(config), Invalid("caller"));
        bytes32 id = getChannelId(config);
        uint128 paid = _take(id, amount);
        emit Refunded(id, msg.sender, paid);
        require(IERC20(config.token).transfer(config.payer, paid), Invalid("transfer"));
    }

    /// @notice Announces a withdrawal. For the payer.
    /// @param config The channel.
    /// @param amount The amount.
    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external {
        require(msg.sender == config.payer, Invalid("caller"));
        bytes32 id = getChannelId(config);
        pendingWithdrawals[id] = Withdrawal(amount, uint40(block.timestamp));
        emit WithdrawInitiated(id, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    /// @notice Pays an announced withdrawal.
    /// @param config The channel.
    function finalizeWithdraw(ChannelConfig calldata config) external {
        bytes32 id = getChannelId(config);
        Withdrawal memory pending = pendingWithdrawals[id];
        bool isDue = pending.amount > 0 && block.timestamp >= pending.initiatedAt + config.withdrawDelay;
        require(isDue, Invalid("time"));
        delete pendingWithdrawals[id];
        uint128 paid = _take(id, pending.amount);
        emit WithdrawFinalized(id, msg.sender, paid);
        require(IERC20(config.token).transfer(config.payer, paid), Invalid("transfer"));
    }

    /// @notice Returns the id of a channel.
    /// @param config The channel.
    /// @return channelId Its EIP-712 hash.
    function getChannelId(ChannelConfig calldata config) public view returns (bytes32 channelId) {
        return _digest(keccak256(abi.encode(CONFIG, config)));
    }

    function _take(bytes32 id, uint128 amount) private returns (uint128 taken) {
        Channel storage channel = channels[id];
        uint128 unclaimed = channel.balance - channel.totalClaimed;
        taken = amount < unclaimed ? amount : unclaimed;
        channel.balance -= taken;
    }

    function _digest(bytes32 message) private view returns (bytes32 digest) {
        (bytes32 name, bytes32 version) = (keccak256("x402 Batch Settlement"), keccak256("1"));
        bytes32 separator = keccak256(abi.encode(DOMAIN, name, version, block.chainid, address(this)));
        return keccak256(abi.encodePacked("\x19\x01", separator, message));
    }

    function _isReceiver(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.receiver || msg.sender == config.receiverAuthorizer;
    }
}
