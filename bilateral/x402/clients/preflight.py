"""Checks of a server before it accepts payments: its agent, its wallet, its signing key and its token.

    app.add_middleware(ReputationMiddleware, routes=routes, server=server, preflight=Preflight(verifier))

Without these checks, a misconfigured server can start, be paid, and sign proofs that no client accepts. `check_url`
performs the same checks on a server that is already running.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Literal

from x402.http.types import PaymentOption, RouteConfig
from x402.schemas import SchemeNotFoundError
from x402.schemas.config import ResourceConfig

from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import checksummed
from bilateral.core.payments.contracts import PERMIT2
from bilateral.core.text import printable, quoted
from bilateral.documents import Network
from bilateral.documents.exchanges import exchange
from bilateral.documents.http import Limits
from bilateral.x402.offers import MAX_HEADER, PAYMENT_REQUIRED, read_offer
from bilateral.x402.proof.checking import UNSUPPORTED
from bilateral.x402.proof.errors import InvalidMessageError, PaymentRefusedError, PreflightError
from bilateral.x402.proof.payments import unsupported_kind
from bilateral.x402.proof.profiles import PROFILES, Profile
from bilateral.x402.proof.verifier import Verifier

logger = logging.getLogger("bilateral.x402")

_SECONDS: Final = 30.0
"""The maximum time to wait for a price, in seconds."""

_DEFAULT_SECONDS: Final = 300  # the SDK's own, for an option without a time limit

_FLOWS: Final = (None, "authorization", "upfront")
"""The values of `extra.paymentFlow` for which a payment is settled exactly once."""

_MOST_TERMS: Final = 20
"""The maximum number of payment terms to check. Each requires node requests, and a hostile offer may list hundreds."""


@dataclass(frozen=True)
class Finding:
    """The result of one check of a declaration.

    Attributes:
        subject: The route or URL that was checked.
        profile: The declaration's key in `extensions`.
        network: The payment's network (CAIP-2); empty if the declaration has no payment terms.
        check: `declaration`: the price and the declaration are readable. `wallet`: the agent exists in trusted
            registries, and `payTo` is its wallet. `keys`: the agent's file lists a valid key and, if the server itself
            runs the check, the extension's key. `payment`: payments on these terms can be made and proven. `token`: the
            token supports such payments, and has the EIP-712 domain that clients sign. For `declaration`, `payment` and
            `token`, only failed checks are reported.
        code: The machine-readable reason; empty if the check passed.
        problem: The human-readable reason; empty if the check passed.
    """

    subject: str
    profile: str
    network: str
    check: Literal["declaration", "wallet", "keys", "payment", "token"]
    code: str = ""
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.subject} ({self.profile}, {self.network or 'no network'}): {self.check}: {self.problem or 'ok'}"


@dataclass(frozen=True)
class Preflight:
    """Checks of a server's own routes at start-up.

    Attributes:
        verifier: Reads the payments' chains, as clients do.
        on_problem: `fail` to raise an error, so that the server does not start; `warn` to log the problems.
        fee_tokens: Tokens that deduct a fee from each transfer, so that the seller would receive less than the price.
            Such tokens cannot be detected on chain.
    """

    verifier: Verifier
    on_problem: Literal["fail", "warn"] = "fail"
    fee_tokens: Collection[str] = ()

    def __post_init__(self) -> None:
        """Check the value of `on_problem`."""
        if self.on_problem not in {"fail", "warn"}:
            raise InvalidArgumentError(f"on_problem must be 'fail' or 'warn', not {self.on_problem!r}")

    def run(self, routes: Mapping[str, RouteConfig], keys: Mapping[str, str], server: Any = None) -> list[Finding]:
        """Check the routes that declare the extension, and return all findings.

        If a function computes `pay_to` or the price for each request, that value is not checked.

        Args:
            routes: The paid routes.
            keys: The registered extensions' public signing keys, each keyed by the extension's key in declarations.
            server: The SDK's resource server, which converts prices to payment terms. Without it, only each payment's
                kind and time limit are checked.

        Raises:
            PreflightError: A check did not pass, and `on_problem` is `fail`.
        """
        findings: list[Finding] = []
        for pattern, route in routes.items():
            options = route.accepts if isinstance(route.accepts, list) else [route.accepts]
            payees = [option.pay_to if isinstance(option.pay_to, str) else None for option in options]
            terms = zip((str(option.network) for option in options), payees, strict=True)
            extensions = route.extensions or {}
            findings += examine(self.verifier, pattern, extensions, terms, keys)
            priced = _priced(options, server) if PROFILES.keys() & extensions.keys() else []
            findings += _option_findings(self.verifier, pattern, extensions, priced, self.fee_tokens)
        problems = [finding for finding in findings if finding.code]
        for finding in problems:
            logger.error("%s", finding)
        if problems and self.on_problem == "fail":
            raise PreflightError(tuple(map(str, problems)))
        return findings


def examine(
    verifier: Verifier,
    subject: str,
    extensions: Mapping[str, Any],
    terms: Iterable[tuple[str, str | None]],
    keys: Mapping[str, str],
) -> list[Finding]:
    """Check one route's declarations."""
    findings = []
    for network, pay_to in dict.fromkeys(terms):
        for profile in (PROFILES[name] for name in PROFILES if name in extensions):
            declaration, key = extensions[profile.key], keys.get(profile.key, "")
            place = subject, profile.key, network
            if pay_to is not None:
                wallet = partial(verifier.check_before_payment, declaration, network, pay_to, profile)
                findings.append(Finding(*place, "wallet", *_outcome(wallet)))
            keys_check = partial(_check_keys, verifier, declaration, network, profile, key)
            findings.append(Finding(*place, "keys", *_outcome(keys_check)))
    return findings


def _priced(options: Iterable[PaymentOption], server: Any) -> Iterator[dict[str, Any]]:
    """Yield the options' terms as clients receive them, without `asset` if they are not known in advance."""
    for option in options:
        terms: dict[str, Any] = {"scheme": option.scheme, "network": str(option.network), "extra": extra_of(option)}
        terms["maxTimeoutSeconds"] = option.max_timeout_seconds or _DEFAULT_SECONDS
        if server is None or callable(option.price) or callable(option.pay_to):
            yield terms
            continue
        names = ("scheme", "network", "pay_to", "price", "max_timeout_seconds", "extra")
        config = ResourceConfig(**{name: getattr(option, name) for name in names})
        try:
            requirements = server.build_payment_requirements(config)
        except (RuntimeError, SchemeNotFoundError) as error:
            logger.warning("the token of %s is not checked: %s", option.network, error)
            yield terms
        except ValueError as error:
            yield terms | {"problem": str(error)}
        else:
            for requirement in requirements:
                yield requirement.model_dump(mode="json", by_alias=True)


def extra_of(option: PaymentOption) -> dict[str, Any]:
    """Return the seller-defined part of `extra` in an option's terms."""
    price: Any = option.price  # an amount of money, a function, or an amount of a token with its terms
    of_token = price.get("extra") if isinstance(price, Mapping) else getattr(price, "extra", None)
    return {**(of_token or {}), **(option.extra or {})}


def _option_findings(
    verifier: Verifier,
    subject: str,
    extensions: Mapping[str, Any],
    terms: Iterable[Mapping[str, Any]],
    fee_tokens: Collection[str] = (),
) -> Iterator[Finding]:
    profile = next(name for name in [*PROFILES, ""] if name in extensions or not name)
    listed = {token.lower() for token in fee_tokens}
    for option in terms:
        place = subject, profile, str(option.get("network"))[:80]
        for code, problem in _payment_problems(verifier, option):
            yield Finding(*place, "payment", code, problem)
        if "asset" not in option or unsupported_kind(option.get("scheme"), place[2], option.get("extra")):
            continue
        code, problem = _outcome(partial(verifier.check_token, option))
        if not code and str(option["asset"]).lower() in listed:
            code, problem = "fee_on_transfer_token", f"asset: {option['asset']} deducts a fee from each transfer"
        if code:
            yield Finding(*place, "token", code, problem)


def _payment_problems(verifier: Verifier, terms: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the code and text of each reason why payments on these terms could not be made or proven."""
    scheme, network, extra = terms.get("scheme"), str(terms.get("network")), terms.get("extra")
    unsupported, extra = unsupported_kind(scheme, network, extra), extra if isinstance(extra, Mapping) else {}
    if unsupported is not None:
        return [(unsupported, UNSUPPORTED)]
    problems, flow, seconds = [], extra.get("paymentFlow"), terms.get("maxTimeoutSeconds")
    if flow not in _FLOWS:
        text = "settles more than once, but a statement covers one transaction: use authorization or upfront"
        problems.append(
            ("payment_flow_not_supported", f"extra.paymentFlow: {quoted(printable(str(flow)[:80]))} {text}")
        )
    if not isinstance(seconds, int) or seconds <= 0:
        text = f"maxTimeoutSeconds: {printable(str(seconds)[:80])} leaves no time to settle; use 1 or more"
        problems.append(("timeout_invalid", text))
    is_complete = "asset" in terms or "problem" in terms
    if scheme == "upto" and is_complete and not _is_account(extra.get("facilitatorAddress")):
        text = "missing or zero, so nobody could settle an upto payment"
        problems.append(("facilitator_missing", f"extra.facilitatorAddress: {text}"))
    if "problem" in terms and not problems:
        problems.append(("terms_invalid", printable(terms["problem"])))
    try:
        for contract in verifier.missing_contracts(terms):
            name = "permit2" if contract == PERMIT2 else "proxy"
            text = f"{network} has no contract at {contract}, which settles {scheme} payments by Permit2"
            problems.append((f"{name}_not_found", text))
    except PaymentRefusedError as error:
        problems.append((error.code, printable(str(error))))
    return problems


def _is_account(value: object) -> bool:
    try:
        return int(checksummed(str(value)), 16) > 0
    except MalformedIdentifierError:
        return False


def _outcome(check: Callable[[], object]) -> tuple[str, str]:
    """Perform a check, and return the code and text of its problem. Both are empty if it passes."""
    try:
        check()
    except InvalidMessageError as error:
        return "invalid_declaration", printable(str(error))
    except PaymentRefusedError as error:
        is_reverted = isinstance(error.__cause__, ContractRevertError)  # reverts only if the agent does not exist
        return "agent_not_found" if is_reverted else error.code, printable(str(error))
    return "", ""


def _check_keys(verifier: Verifier, declaration: Any, network: str, profile: Profile, key: str) -> None:
    """Check that an agent's file lists a valid key, including the signing key if it is known."""
    listed = verifier.listed_keys(profile.info_of(declaration), network)
    if key and not any(listed_key.public_key.lower() == key.lower() for listed_key in listed):
        problem = f"the registration file does not list {key} as valid: add it with `bilateral x402 signers add`"
        raise PaymentRefusedError("key_not_listed", problem)


def check_url(verifier: Verifier, url: str, method: str = "GET", *, content: bytes = b"") -> list[Finding]:
    """Request a server's price, and check its declaration as a client does before paying. Nothing is signed.

    Args:
        verifier: Reads the chains of the payments.
        url: The URL of a paid route.
        method: The request's HTTP method.
        content: The request's body.

    Raises:
        InvalidArgumentError: The server does not request payment.
        DocumentError: The server cannot be reached, or its response cannot be read.
    """
    return findings_of(verifier, url, ask_price(url, method, content=content))


def ask_price(
    url: str, method: str = "GET", *, content: bytes = b"", network: Network | None = None
) -> Mapping[str, Any] | None:
    """Send a request without a payment, and return the price in the response, or None if the price is unreadable.

    Args:
        network: Connection settings. If omitted, the URL is treated as trusted input from the program's user, and may
            be a private address.
    """
    limits = Limits(seconds=_SECONDS, redirects=0)
    answer = exchange(method, url, limits, network or Network(allow_private=True), body=content, is_cut=True)
    if answer.status != HTTPStatus.PAYMENT_REQUIRED:
        raise InvalidArgumentError(f"{quoted(url)} returned status {answer.status}, not 402, so it requests no payment")
    header = answer.headers.get(PAYMENT_REQUIRED)
    return read_offer(header, answer.body if header is None else b"").message


def findings_of(verifier: Verifier, url: str, price: Mapping[str, Any] | None) -> list[Finding]:
    """Check a price and the server's declaration as a client does before paying."""
    invalid = partial(Finding, url, "", "", "declaration", "invalid_declaration")
    if price is None:
        return [invalid(f"PAYMENT-REQUIRED is missing, malformed, repeats a name, or exceeds {MAX_HEADER} characters")]
    extensions, accepts = price.get("extensions"), price.get("accepts")
    if not isinstance(extensions, dict) or not PROFILES.keys() & extensions.keys():
        return [Finding(url, "", "", "declaration", "not_declared", "the server does not declare 8004-reputation")]
    options = [option for option in accepts if isinstance(option, dict)] if isinstance(accepts, list) else []
    terms = [(str(option.get("network"))[:80], str(option.get("payTo"))[:200]) for option in options]
    if not 1 <= len(terms) <= _MOST_TERMS:
        return [invalid(f"the server offers {len(terms)} payment options, but 1 to {_MOST_TERMS} are allowed")]
    return [*examine(verifier, url, extensions, terms, {}), *_option_findings(verifier, url, extensions, options)]
