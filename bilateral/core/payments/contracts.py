"""The contracts that handle x402 payments, each at the same address on every EVM chain, and their events."""

from typing import Final

from eth_hash.auto import keccak

PERMIT2: Final = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
EXACT_PROXY: Final = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
UPTO_PROXY: Final = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
RETIRED_UPTO_PROXY: Final = "0x402039b3d6E6BEC5A02c2C9fd937ac17A6940002"
"""The `upto` proxy of the x402 npm packages 2.9 to 2.11. It is never accepted, because it lets anyone settle a
payment."""

BATCH: Final = "0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003"
"""The contract for payment channels (scheme `batch-settlement`)."""

EIP3009_COLLECTOR: Final = "0x4020806089470a89826cB9fB1f4059150b550004"
PERMIT2_COLLECTOR: Final = "0x4020425FAf3B746C082C2f942b4E5159887B0005"

ESCROWS: Final = (
    "0xf96815976523E00e65Be8f34cA5e64b4f41EB19c",
    "0x13AC3b34322D12FE27D5e192D0c2b2266d4F29CB",
    "0xBdEA0D1bcC5966192B070Fdf62aB4EF5b4420cff",
)
"""The escrow contracts for `auth-capture`: those of npm package version 2.27, the newest specification, and version
1.0."""

ESCROW_COLLECTORS: Final = (
    "0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88",
    "0xD69831Aed5bfe262067ec4c751f4F830EcdD446e",
    "0x7a03443724d14798c4AB4622F1DAAcA761Fea486",
    "0xEA902B37036bcb4944577ec2101ABdEDF56EbD28",
    "0x1aacb38b16a1a8709e80746825E53A0C9Cae9b70",
    "0x6a1ADdEEb4bD9c5811a613e20c172b6CE61A4aaB",
    "0x0E3dF9510de65469C4518D7843919c0b8C7A7757",
    "0x992476B9Ee81d52a5BdA0622C333938D0Af0aB26",
    "0x934907bffd0901b6A21e398B9C53A4A38F02fa5d",
)

CANONICAL: Final = frozenset(
    {PERMIT2, EXACT_PROXY, UPTO_PROXY, RETIRED_UPTO_PROXY, BATCH, EIP3009_COLLECTOR, PERMIT2_COLLECTOR}
    | set(ESCROWS)
    | set(ESCROW_COLLECTORS)
)
"""All contracts in this module. Money only passes through them, so they never count as payer, payee or source of
funds."""

TRANSFER: Final = keccak(b"Transfer(address,address,uint256)")
AUTHORIZATION_USED: Final = keccak(b"AuthorizationUsed(address,bytes32)")
AUTHORIZATION_CANCELED: Final = keccak(b"AuthorizationCanceled(address,bytes32)")
NONCE_INVALIDATED: Final = keccak(b"UnorderedNonceInvalidation(address,uint256,uint256)")
SETTLED: Final = frozenset({keccak(b"Settled()"), keccak(b"SettledWithPermit()")})
"""The topics of both proxies' settlement events. The events contain no accounts and no data."""

_CONFIG: Final = "(address,address,address,address,address,uint40,bytes32)"
CHANNEL_CREATED: Final = keccak(f"ChannelCreated(bytes32,{_CONFIG})".encode())
DEPOSITED: Final = keccak(b"Deposited(bytes32,address,uint128,uint128)")
CLAIMED: Final = keccak(b"Claimed(bytes32,address,uint128,uint128)")
REFUNDED: Final = keccak(b"Refunded(bytes32,address,uint128)")
WITHDRAWN: Final = keccak(b"WithdrawFinalized(bytes32,address,uint128)")
