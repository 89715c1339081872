"""Checks of servers before a payment, checks of clients' claims, and the cache of the registration files they use.

`examination` contains the checks made after the answer arrives.

These checks are operations: they perform no I/O themselves.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.crypto import keccak
from x402.mechanisms.evm.utils import get_asset_info

from bilateral.client.operations.registries import call, simulate
from bilateral.client.state import ClientState
from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import DocumentError, MalformedIdentifierError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId, checksummed
from bilateral.core.payments import PaymentKind, kind_of_terms
from bilateral.core.payments.contracts import PERMIT2
from bilateral.core.payments.kinds import PROXIES
from bilateral.core.text import printable, quoted
from bilateral.core.values.failures import FailureCount
from bilateral.documents import Document, Loader, RegistrationFile, Signer
from bilateral.node import answers
from bilateral.node.steps import Blocking, Operation, Rpc, together
from bilateral.x402.proof import verdicts
from bilateral.x402.proof.errors import PaymentRefusedError
from bilateral.x402.proof.payments import unsupported_kind
from bilateral.x402.proof.readers import RegistryReader, deployment_of, for_one_check, is_same_account
from bilateral.x402.proof.types import AgentRegistration, ClientAgent, ReputationInfo

if TYPE_CHECKING:
    from bilateral import checks

UNSUPPORTED: Final = (
    "payments of this kind cannot be proven by a single transaction: offer exact, by EIP-3009 or Permit2, or upto"
)
"""The reason for rejecting payments of unsupported kinds."""

MAX_SIGNERS: Final = 64
"""The maximum number of keys to accept in one file, because each may require a signature check."""

FRESH_SECONDS: Final = 300.0
"""How long a cached file is trusted, in seconds. A removed key's signatures are accepted for at most this long."""

MAX_CACHED: Final = 256
"""The maximum number of files to cache. Without a limit, strangers could exhaust the memory."""

WALLET_SERVICE: Final = "agentWallet"
"""The name of the service that lists a wallet on another chain (ERC-8004 best practices, "Registration")."""


@dataclass
class FileCache:
    """Caches registration files by URI: indefinitely if the URI commits to the content, otherwise for five minutes.

    After five minutes, a conditional request with the file's `ETag` or `Last-Modified` checks for changes.

    Attributes:
        loader: Loads the files.
    """

    loader: Loader
    _files: OrderedDict[str, tuple[Document, float]] = field(default_factory=OrderedDict)

    def load(self, uri: str, *, is_fresh: bool = False) -> Document:
        """Return a file. If `is_fresh` is True, check for changes first."""
        cached = self._files.get(uri)
        if cached and (cached[0].integrity or (not is_fresh and cached[1] > time.monotonic())):
            return cached[0]
        changes = self.loader.load_changes(uri, cached[0].validators) if cached else self.loader.load(uri)
        if changes is None and cached:
            changes = cached[0]
        assert changes is not None  # noqa: S101  # only a known file can be unchanged
        self._files[uri] = changes, time.monotonic() + FRESH_SECONDS
        while len(self._files) > MAX_CACHED:
            self._files.popitem(last=False)
        return changes


@dataclass(frozen=True)
class Terms:
    """The terms on which a server and its proofs are checked.

    Attributes:
        confirmations: The number of blocks that must confirm the payment, including its own.
        is_historical: True to check the keys and the file as of the payment's block.
        allow_wallet_signer: True to accept the signature of the agent's wallet if the agent's file lists no keys.
        wallet_services: True to accept the wallets that the registration file lists on other chains.
        receipt_seconds: The maximum time to wait for a payment's receipt and confirmations.
    """

    confirmations: int = 1
    is_historical: bool = False
    allow_wallet_signer: bool = False
    wallet_services: bool = False
    receipt_seconds: float = 0.0


def check_before_payment(
    reader: RegistryReader, files: FileCache, info: ReputationInfo, payee: tuple[ChainId, str], terms: Terms
) -> Operation[AgentRegistration]:
    """Check a server's agent before anything is signed ("Pre-Payment Verification")."""
    reader = for_one_check(reader)
    registration = reader.trusted_registration(info)
    chain, pay_to = payee
    reads: list[Operation[Any]] = [reader.check_registries(registration), reader.wallet(registration.agent)]
    _, expected = yield from together(reads)
    if terms.wallet_services:
        service_address = yield from _service_wallet_of(reader, files, registration, chain)
        expected = service_address or (expected if reader.chain == chain else "")
        if not expected:
            raise PaymentRefusedError("no_wallet_on_network", f"the agent declares no wallet on {chain}")
    if not is_same_account(chain, expected, pay_to):
        raise PaymentRefusedError("payment_address_mismatch", verdicts.ADDRESS_MISMATCH)
    return registration


def service_wallet(file: RegistrationFile, chain: ChainId) -> str:
    """Return the wallet that a registration file lists as a service on a chain, or an empty string if there is none."""
    for service in file.all_services:
        endpoint = service.endpoint or ""
        if service.name == WALLET_SERVICE and endpoint.startswith(f"{chain}:"):
            with suppress(MalformedIdentifierError):
                return AccountId.parse(endpoint).address
    return ""


def authentic_file(document: Document) -> RegistrationFile | None:
    """Read a registration file. Return None if its authenticity cannot be proven, as with an http URL."""
    is_authentic = document.integrity is not None or document.uri.lower().startswith("https:")
    return document.registration() if is_authentic else None


def listed_keys(reader: RegistryReader, files: FileCache, registration: AgentRegistration) -> Operation[list[Signer]]:
    """Return an agent's currently valid keys, as listed in its registration file."""
    agent = registration.agent
    uri = yield from reader.uri(agent)
    if not uri:
        raise PaymentRefusedError("file_missing", f"agent {agent} has no registration file: set its URI")
    file = yield from _loaded(files, uri, "file_not_loaded")
    if file is None:
        raise PaymentRefusedError("file_not_authentic", "nothing proves that the registration file is authentic")
    if file.registration_of(agent) is None:
        raise PaymentRefusedError("agent_not_registered", f"the registration file does not mention the agent {agent}")
    keys = file.valid_signers(datetime.now(UTC))
    if not keys:
        raise PaymentRefusedError("no_valid_signers", f"{verdicts.NO_VALID_SIGNERS} in the registration file")
    return keys


def _loaded(files: FileCache, uri: str, code: str) -> Operation[RegistrationFile | None]:
    try:
        document: Document = yield Blocking(lambda: files.load(uri))
        return authentic_file(document)
    except DocumentError as error:
        raise PaymentRefusedError(code, f"the registration file cannot be read: {error}") from None


def _service_wallet_of(
    reader: RegistryReader, files: FileCache, registration: AgentRegistration, chain: ChainId
) -> Operation[str]:
    uri = yield from reader.uri(registration.agent)
    if not uri:
        return ""
    file = yield from _loaded(files, uri, "cannot_check")
    if file is None or file.registration_of(registration.agent) is None:
        raise PaymentRefusedError(
            "cannot_check", "the registration file is not authentic, or does not belong to the agent"
        )
    return service_wallet(file, chain)


@dataclass(frozen=True)
class VerifiedClient:
    """A client agent whose claim has been checked.

    Attributes:
        payer: The account that pays: the agent's wallet or its owner.
        rating: The server's rating of the client, from 0 to 100; None if the client has not been rated.
        check: An index's check of the client, with its reasons; None if no index was queried.
        failures: The count of the payer's failed settlements with this server; None if the server does not count them.
    """

    agent: GlobalAgentId
    owner: str
    payer: str
    rating: int | None
    check: checks.Check | None = None
    failures: FailureCount | None = None


def check_client(
    state: ClientState, claim: ClientAgent, payer: str, server_agent: int, indexed_rating: int | None = None
) -> Operation[VerifiedClient]:
    """Check that a payer may act for the claimed agent, and read the agent's rating (EIP-8004a, `getClientRating`)."""
    if claim.agent.registry != deployment_of(state).agent_registry:
        raise PaymentRefusedError("unknown_registry", f"{claim.agent.registry} is not on the allow-list")
    token = claim.agent.agent_id.token_id
    calls = [call(state, Registry.IDENTITY, "ownerOf", token), call(state, Registry.IDENTITY, "getAgentWallet", token)]
    if indexed_rating is None:
        calls.append(call(state, Registry.BIDIRECTIONAL, "getClientRating", token, server_agent))
    (owner,), (wallet,), *read = yield from together(calls)
    if payer.lower() not in {owner.lower(), wallet.lower()}:
        raise PaymentRefusedError("not_the_client_agent", f"{payer} is not the wallet or owner of {claim.agent}")
    for has_rating, rating in read:
        indexed_rating = rating if has_rating else None
    return VerifiedClient(claim.agent, owner, payer, indexed_rating)


_DOMAIN_TYPE: Final = keccak(text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_DOMAIN_FIELDS: Final = ("bytes1", "string", "string", "uint256", "address", "bytes32", "uint256[]")
"""The types of the values returned by `eip712Domain()` (ERC-5267)."""

_ALL_FIELDS: Final = b"\x0f"
"""The field bits (ERC-5267) of a domain that has a name, version, chain and contract, but no salt."""

_STATE_ARGUMENTS: Final = encode(("address", "bytes32"), ("0x" + "00" * 20, bytes(32)))
_MOST_TEXT: Final = 80  # characters of an untrusted name in a message


def check_token(terms: Mapping[str, Any]) -> Operation[None]:
    """Check that a token supports the payments that the terms require. The node must serve the terms' network."""
    network, extra = str(terms.get("network")), terms.get("extra")
    code = unsupported_kind(terms.get("scheme"), network, extra)
    if code is not None:
        raise PaymentRefusedError(code, UNSUPPORTED)
    try:
        token = checksummed(str(terms.get("asset")))
    except MalformedIdentifierError as error:
        raise PaymentRefusedError("token_not_found", f"asset: {error}") from None
    if not answers.data((yield Rpc("eth_getCode", (token, "latest")))):
        raise PaymentRefusedError("token_not_found", f"asset: {network} has no contract at {token}")
    if kind_of_terms(terms.get("scheme"), extra) is not PaymentKind.EIP3009:
        return  # Permit2 moves any token
    if (yield from _view(token, "authorizationState(address,bytes32)", _STATE_ARGUMENTS)) is None:
        problem = f"asset: {token} has no transfers with authorization (EIP-3009), which the exact scheme needs"
        raise PaymentRefusedError("token_without_eip3009", problem)
    yield from _check_domain(token, network, extra if isinstance(extra, dict) else {})


def missing_contracts(terms: Mapping[str, Any]) -> Operation[list[str]]:
    """Return the contracts that Permit2 payments require but that are missing on the node's chain."""
    proxy = PROXIES.get(kind_of_terms(terms.get("scheme"), terms.get("extra")))
    missing = []
    for contract in (PERMIT2, proxy) if proxy is not None else ():
        code = answers.data((yield Rpc("eth_getCode", (contract, "latest"))))
        missing += [] if code else [contract]
    return missing


def _check_domain(token: str, network: str, extra: Mapping[str, Any]) -> Operation[None]:
    name, version = _signed_domain(token, network, extra)
    chain = int(network.rpartition(":")[2])
    parts = (_DOMAIN_TYPE, keccak(text=name), keccak(text=version), chain, token)
    separator = keccak(encode(("bytes32", "bytes32", "bytes32", "uint256", "address"), parts))
    own = yield from _own_domain(token)
    own_separator = None if own is not None else (yield from _view(token, "DOMAIN_SEPARATOR()"))
    if own == (_ALL_FIELDS, name, version, chain, token.lower()) or own_separator == separator:
        return
    if own is None and own_separator is None:
        problem = f"{token} has neither eip712Domain() nor DOMAIN_SEPARATOR(): its EIP-712 domain cannot be compared"
        raise PaymentRefusedError("token_domain_unreadable", problem)
    own_name, own_version = own[1:3] if own is not None else (yield from _texts(token))
    problem = (
        f"extra: clients would sign for name {_short(name)} and version {_short(version)}, but the EIP-712 domain of "
        f"{token} differs; the token reports name {_short(own_name)} and version {_short(own_version)}"
    )
    raise PaymentRefusedError("token_domain_mismatch", problem)


def _signed_domain(token: str, network: str, extra: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and version that the SDK client signs, from the terms or from the SDK's list of tokens."""
    name, version = extra.get("name"), extra.get("version", "1")
    if name is None:
        try:
            listed: Mapping[str, Any] = get_asset_info(network, token)
        except ValueError:
            listed = {}
        name, version = listed.get("name"), listed.get("version", "1")
    if not isinstance(name, str) or not isinstance(version, str):
        problem = "extra: the name and version of the token's EIP-712 domain must be strings"
        raise PaymentRefusedError("token_domain_missing", problem)
    return name, version


def _own_domain(token: str) -> Operation[tuple[bytes, str, str, int, str] | None]:
    """Return the domain that a token reports (ERC-5267): its fields, name, version, chain and contract."""
    returned = yield from _view(token, "eip712Domain()")
    try:
        fields, name, version, chain, contract = decode(_DOMAIN_FIELDS, returned or b"")[:5]
    except (DecodingError, UnicodeDecodeError):
        return None
    return fields, name, version, chain, contract.lower()


def _texts(token: str) -> Operation[tuple[str, str]]:
    texts = {"name()": "", "version()": ""}
    for function in texts:
        returned = yield from _view(token, function)
        with suppress(DecodingError, UnicodeDecodeError):
            texts[function] = str(decode(("string",), returned or b"")[0])
    return texts["name()"], texts["version()"]


def _view(token: str, signature: str, arguments: bytes = b"") -> Operation[bytes | None]:
    data = "0x" + (keccak(text=signature)[:4] + arguments).hex()
    try:
        return (yield from simulate({"to": token, "data": data})) or None
    except ContractRevertError:
        return None


def _short(text: str) -> str:
    return quoted(printable(text[:_MOST_TEXT]))
