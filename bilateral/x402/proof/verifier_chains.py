"""The chains of a verifier: a reader for each, and the states of those on EVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bilateral.client.state import ClientState
from bilateral.core.contracts import Deployment
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import ChainId
from bilateral.core.text import quoted
from bilateral.node.steps import Operation
from bilateral.x402.proof.checking import FileCache, Terms, check_before_payment
from bilateral.x402.proof.errors import InvalidMessageError, PaymentRefusedError
from bilateral.x402.proof.examination import Examination
from bilateral.x402.proof.paid_requests import PaidRequest
from bilateral.x402.proof.profiles import Profile
from bilateral.x402.proof.readers import EvmReader, GuardedReader, RegistryReader
from bilateral.x402.proof.types import AgentRegistration, ReputationInfo
from bilateral.x402.proof.verdicts import Check, CheckName, Outcome, Verification


class Chains:
    """The chains that a verifier knows, each with its reader. Their registries are its allow-list."""

    def __init__(
        self, deployments: Iterable[Deployment], readers: Iterable[RegistryReader], files: FileCache, terms: Terms
    ) -> None:
        self.files, self.terms = files, terms
        self.states: dict[str, ClientState] = {}
        self.deployments: dict[str, Deployment] = {}
        self.readers: dict[str, RegistryReader] = {}
        for deployment in deployments:
            state = ClientState(wanted=deployment)
            reader = EvmReader(state, terms.confirmations)
            self._add(reader)
            self.states[str(reader.chain)] = state
            self.deployments[str(reader.chain)] = deployment
        for plugged in readers:
            self._add(GuardedReader(plugged))

    def _add(self, reader: RegistryReader) -> None:
        network = str(reader.chain)
        if network in self.readers:
            raise InvalidArgumentError(f"two deployments are on {network}: give one a chain")
        self.readers[network] = reader

    @property
    def providers(self) -> dict[str, str]:
        """The URL of the node of each plug-in that has one, by its chain."""
        guarded = {network: reader for network, reader in self.readers.items() if isinstance(reader, GuardedReader)}
        return {network: reader.provider for network, reader in guarded.items() if reader.provider is not None}

    def reader(self, network: str) -> RegistryReader:
        """Return the reader of a chain.

        Raises:
            PaymentRefusedError: The verifier does not know the chain.
        """
        if network not in self.readers:
            known = ", ".join(self.readers) or "none"
            raise PaymentRefusedError(
                "unsupported_network", f"{quoted(network[:80])} cannot be checked; known: {known}"
            )
        return self.readers[network]

    def state(self, network: str) -> ClientState:
        """Return the state of an EVM chain.

        Raises:
            PaymentRefusedError: The verifier does not know the chain, or reads it by a plug-in.
        """
        self.reader(network)
        if network not in self.states:
            raise PaymentRefusedError("unsupported_network", f"{network} has no ratings of clients")
        return self.states[network]

    def identity_network(self, info: ReputationInfo | None, network: str) -> str:
        """Return the chain on which a server's identity is checked.

        It is the chain of the payment. With `wallet_services` and without an agent there, it is the first known chain
        of the server's registrations.
        """
        if self.terms.wallet_services and info is not None and info.registration_on(network) is None:
            return next(
                (
                    str(registration.chain)
                    for registration in info.registrations
                    if str(registration.chain) in self.readers
                ),
                network,
            )
        return network

    def before_payment(
        self, declaration: Any, network: str, pay_to: str, profile: Profile
    ) -> tuple[str, Operation[AgentRegistration]]:
        """Return the operation that checks a server before a payment, and the chain on which it runs.

        Raises:
            PaymentRefusedError: The declaration is malformed, or the network unknown.
        """
        try:
            info = profile.info_of(declaration)
        except InvalidMessageError as error:
            raise PaymentRefusedError("invalid_declaration", str(error)) from None
        identity = self.identity_network(info, network)
        reader = self.reader(identity)
        try:
            payee = ChainId.parse(network), pay_to
        except MalformedIdentifierError as error:
            raise PaymentRefusedError("unsupported_network", str(error)) from None
        return identity, check_before_payment(reader, self.files, info, payee, self.terms)

    def after_payment(self, paid: PaidRequest, *, is_historical: bool) -> tuple[str, Examination]:
        """Return the examination of a paid answer, and the chain of the agent's identity.

        Raises:
            PaymentRefusedError: The network is unknown.
        """
        try:
            info = paid.profile.info_of(paid.declaration)
        except InvalidMessageError:
            info = None  # the examination will say so
        identity = self.identity_network(info, paid.network)
        terms = self.terms.historical(is_historical)
        return identity, Examination(self.reader(identity), self.files, paid, terms)

    def unchecked(self, paid: PaidRequest, error: PaymentRefusedError, *, is_historical: bool) -> Verification:
        """Return the verification of an answer on a chain that cannot be checked."""
        checks = tuple(Check(name, Outcome.UNCHECKED, str(error), error.code) for name in CheckName)
        now = Verification(checks, request_target=paid.target, profile=paid.profile.key, paid=paid)
        return replace(now, is_historical=True, now=now) if is_historical else now
