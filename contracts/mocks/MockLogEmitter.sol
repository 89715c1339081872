// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Emits any logs, so that readers of logs meet what no registry would emit.
contract MockLogEmitter {
    /// @notice A log to emit.
    /// @param topics Its topics, at most four.
    /// @param data Its data.
    struct Log {
        bytes32[] topics;
        bytes data;
    }

    /// @notice Emits logs in their order.
    /// @param logs The logs.
    function emitLogs(Log[] calldata logs) external {
        for (uint256 i; i < logs.length; ++i) {
            bytes32[] calldata topics = logs[i].topics;
            bytes memory data = logs[i].data;
            uint256 count = topics.length;
            // Solidity has no statement that emits a log with topics that are known only at run time.
            assembly ("memory-safe") {
                let start := add(data, 0x20)
                let size := mload(data)
                let first := topics.offset
                switch count
                case 0 {
                    log0(start, size)
                }
                case 1 {
                    log1(start, size, calldataload(first))
                }
                case 2 {
                    log2(start, size, calldataload(first), calldataload(add(first, 0x20)))
                }
                case 3 {
                    log3(
                        start,
                        size,
                        calldataload(first),
                        calldataload(add(first, 0x20)),
                        calldataload(add(first, 0x40))
                    )
                }
                default {
                    log4(
                        start,
                        size,
                        calldataload(first),
                        calldataload(add(first, 0x20)),
                        calldataload(add(first, 0x40)),
                        calldataload(add(first, 0x60))
                    )
                }
            }
        }
    }
}
