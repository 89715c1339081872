"""What happens on the chain in each story, with the facts that a plain model judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from eth_utils.crypto import keccak

from tests.payments import wire
from tests.payments.flaws import flawed
from tests.payments.stories import FLAWED

DAY = 24 * 3600
SHORT, LONG = 600, 10 * DAY
"""The seconds for which authorizations are valid: those of a story that expires, and all others."""

MAX_TIMEOUT = 600

USED = keccak(text="AuthorizationUsed(address,bytes32)")
SETTLED = keccak(text="Settled()")


@dataclass
class Authorization:
    """What a buyer signed, and what became of it.

    Attributes:
        state: `unused`, `used` or `cancelled`.
        transaction: The transaction that used it.
    """

    kind: str
    token: str
    nonce: int
    state: str = "unused"
    transaction: str | None = None


@dataclass
class Payment:
    """Money that moved by an authorization, or out of a channel.

    Attributes:
        amount: What arrived.
        nonce: That of the authorization, or the channel's id.
        is_direct: True if the transaction calls the proxy itself; always of `eip3009`.
        ceiling: What was signed for `permit2-upto`.
    """

    kind: str
    payer: str
    payee: str
    token: str
    amount: int
    nonce: int
    is_direct: bool = True
    ceiling: int | None = None
    transaction: str = ""


@dataclass
class Deal:
    """A story as it happened.

    Attributes:
        accepted: The terms, as the server states them.
        payload: What the buyer sends.
        authorization: What the buyer signed; None if it is flawed.
        settle: Returns the contract and the call that move an amount by the authorization, and the payment.
        named: The transaction that the facilitator reports; empty for none.
        second_payload: What the buyer sends after its answer, to buy another one; None for nothing.
        payments: All that was paid in the story.
    """

    story: object
    accepted: dict
    payload: dict
    authorization: Authorization | None
    settle: Callable[[int], tuple[str, bytes, Payment]]
    named: str = ""
    second_payload: dict | None = None
    payments: list[Payment] = field(default_factory=list)


class Acts:
    """Plays stories on a chain."""

    def __init__(self, chain):
        self.chain = chain
        self._nonces = 0

    def accepted(self, kind, token, price, seller):
        """Return the terms of a route."""
        extra = {"name": "Test Dollar", "version": "2"}
        if kind != "eip3009":
            extra["assetTransferMethod"] = "permit2"
        if kind == "permit2-upto":
            extra["facilitatorAddress"] = self.chain.facilitator.address
        return {
            "scheme": "upto" if kind == "permit2-upto" else "exact",
            "network": f"eip155:{wire.CHAIN_ID}",
            "asset": self.chain.tokens[token],
            "amount": str(price),
            "payTo": self.chain.wallets[seller],
            "maxTimeoutSeconds": MAX_TIMEOUT,
            "extra": extra,
        }

    def agree(self, story):
        """Return the deal of a story, before anything happens on the chain."""
        buyer = self.chain.buyers[story.buyer]
        is_pretender = story.act == "settles a token that moves another one"
        token = "pretender" if is_pretender else story.coin
        accepted = self.accepted(story.kind, token, story.price, story.seller)
        facilitator = wire.ROUTER if "by a router" in story.act else self.chain.facilitator.address
        lifetime = SHORT if story.act == "expires" else LONG
        signed, payload, settle = self._signed(story, buyer, token, story.price, facilitator, lifetime)
        deal = Deal(story, accepted, payload, signed, settle)
        if story.act == FLAWED:
            deal.payload, deal.authorization = flawed(payload, story.flaw, self.chain), None
        elif story.act in {"sends it again", "sends it twice at once"}:
            change = wire.twin if len(payload["signature"]) == 132 else bytes
            again = change(bytes.fromhex(payload["signature"][2:]))
            deal.second_payload = payload | {"signature": "0x" + again.hex(), "again": True}
        elif story.act == "sends it for another token at once":
            other = "taxed" if story.coin == "dollar" else "dollar"
            same = facilitator, lifetime, signed.nonce
            _, deal.second_payload, _ = self._signed(story, buyer, other, story.price, *same)
        return deal

    def happen(self, deal):
        """Do what a story says on the chain, in one block or several."""
        _ACTS[deal.story.act](self, deal)
        self.chain.mine()

    # The acts.

    def _settles(self, deal, sender=None):
        sender = sender or self.chain.facilitator
        to, data, payment = deal.settle(deal.story.charged)
        deal.payments.append(payment)
        self.chain.send(sender, to, data, lambda sent: self._paid(deal, deal.authorization, payment, sent))

    def _settles_by_router(self, deal, twin=None, transfers=()):
        """Call the proxy by a contract, between calls that fail.

        Args:
            deal: The deal.
            twin: The distance to another buyer, whose payment goes first; 0 for the same one, None for none.
            transfers: The amounts of plain transfers between the same accounts, which go around the payment.
        """
        story, dollar = deal.story, self.chain.tokens["dollar"]
        payments = [(deal.authorization, *deal.settle(story.charged))]
        if twin is not None:
            other = self.chain.buyers[(story.buyer + twin) % len(self.chain.buyers)]
            signed, _, settle = self._signed(story, other, story.coin, story.price, wire.ROUTER, LONG)
            payments.insert(0, (signed, *settle(story.charged)))
        settling = [(to, data) for _, to, data, _ in payments]
        accounts = self.chain.buyers[story.buyer].address, deal.accepted["payTo"]
        around = [
            (deal.accepted["asset"], wire.call("transferFrom(address,address,uint256)", *accounts, amount))
            for amount in transfers
        ]
        failing = dollar, wire.call("transfer(address,uint256)", accounts[1], 10**40)
        # A nonce that was used in the same transaction fails, too.
        data = wire.routed(failing, *around, *settling, settling[0], failing, *around)

        def sent(transaction):
            for signed, *_, payment in payments:
                payment.is_direct = payment.kind == "eip3009"
                self._paid(deal, signed, payment, transaction)

        deal.payments += [payment for *_, payment in payments]
        self.chain.send(self.chain.relayer, wire.ROUTER, data, sent)

    def _settles_among_transfers(self, deal):
        self._settles_by_router(deal, transfers=(deal.story.price // 2, 1, 2 * deal.story.price))

    def _is_overtaken(self, deal):
        self._settles(deal, self.chain.front_runner)

    def _is_cancelled(self, deal):
        signed, buyer = deal.authorization, self.chain.buyers[deal.story.buyer]
        if signed.kind == "eip3009":
            kind = "CancelAuthorization(address authorizer,bytes32 nonce)"
            message = wire.struct(kind, buyer.address, signed.nonce)
            signature = buyer.sign(wire.digest(wire.token_domain(signed.token), message))
            arguments = buyer.address, signed.nonce.to_bytes(32), signature
            to, data = signed.token, wire.call("cancelAuthorization(address,bytes32,bytes)", *arguments)
        else:
            arguments = signed.nonce >> 8, 1 << (signed.nonce & 255)
            to, data = wire.PERMIT2, wire.call("invalidateUnorderedNonces(uint256,uint256)", *arguments)
        signed.state = "cancelled"
        self._send_named(deal, buyer, to, data)

    def _is_left(self, deal):
        """Nothing happens. The seller names a transfer that the buyer made for something else."""
        self._names_transfer(deal)

    def _names_nothing(self, deal):
        deal.named = "0x" + keccak(text=f"nothing {deal.story.number}").hex()

    def _names_transfer(self, deal):
        story = deal.story
        arguments = self.chain.wallets[story.seller], story.price
        data = wire.call("transfer(address,uint256)", *arguments)
        self._send_named(deal, self.chain.buyers[story.buyer], deal.accepted["asset"], data)

    def _names_earlier(self, deal, offset=0):
        """The seller names the settlement of another authorization about the same amount."""
        story = deal.story
        buyer = self.chain.buyers[(story.buyer + offset) % len(self.chain.buyers)]
        facilitator = self.chain.facilitator
        signed, _, settle = self._signed(story, buyer, story.coin, story.price, facilitator.address, LONG)
        to, data, payment = settle(story.charged)
        deal.payments.append(payment)
        self.chain.send(facilitator, to, data, lambda sent: self._paid(deal, signed, payment, sent))

    def _names_stranger(self, deal):
        self._names_earlier(deal, offset=1)

    def _settles_another_token(self, deal):
        story, facilitator = deal.story, self.chain.facilitator
        buyer = self.chain.buyers[story.buyer]
        signed, _, settle = self._signed(story, buyer, "foreign", story.price, facilitator.address, LONG)
        to, data, payment = settle(story.charged)
        deal.payments.append(payment)
        self.chain.send(facilitator, to, data, lambda sent: self._paid(deal, signed, payment, sent))

    def _settles_pretender(self, deal):
        """The signed token moves dollars of somebody who signed nothing."""
        victim = self.chain.buyers[(deal.story.buyer + 1) % len(self.chain.buyers)].address
        aim = wire.call("aim(address,address)", self.chain.tokens["dollar"], victim)
        self.chain.send(self.chain.relayer, self.chain.tokens["pretender"], aim)
        self._settles(deal)
        deal.payments.clear()

    def _pays_past_proxy(self, deal):
        """The facilitator spends another permit of the buyer by Permit2 itself."""
        story, facilitator = deal.story, self.chain.facilitator
        token, nonce = deal.accepted["asset"], self._nonce(story)
        buyer, until = self.chain.buyers[story.buyer], self.chain.time + LONG
        signature = wire.signed_bare_permit(buyer, token, story.price, facilitator.address, nonce, until)
        name = "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)"
        permit, details = ((token, story.price), nonce, until), (deal.accepted["payTo"], story.price)
        data = wire.call(name, permit, details, buyer.address, signature)
        self._send_named(deal, facilitator, wire.PERMIT2, data)

    def _pays_by_allowance(self, deal):
        story, facilitator = deal.story, self.chain.facilitator
        token, buyer = deal.accepted["asset"], self.chain.buyers[story.buyer]
        arguments = token, facilitator.address, story.price, 2**48 - 1
        self.chain.send(buyer, wire.PERMIT2, wire.call("approve(address,address,uint160,uint48)", *arguments))
        arguments = buyer.address, deal.accepted["payTo"], story.price, token
        data = wire.call("transferFrom(address,address,uint160,address)", *arguments)
        self._send_named(deal, facilitator, wire.PERMIT2, data)

    def _imitates(self, deal):
        """A plain transfer stands beside the event that a settlement would log, from another contract."""
        story, token = deal.story, deal.accepted["asset"]
        buyer = self.chain.buyers[story.buyer]
        moves = wire.call("transferFrom(address,address,uint256)", buyer.address, deal.accepted["payTo"], story.price)
        used = [USED, wire.word(buyer.address), wire.word(deal.authorization.nonce)]
        topics = used if story.kind == "eip3009" else [SETTLED]
        logs = self.chain.emitter, wire.emitted((topics, b""))
        calls = [logs, (token, moves)] if story.kind == "eip3009" else [(token, moves), logs]
        self._send_named(deal, self.chain.relayer, wire.ROUTER, wire.routed(*calls))

    def _charges_all_later(self, deal):
        """The answer named no transaction."""
        to, data, payment = deal.settle(deal.story.price)
        deal.payments.append(payment)
        sender = self.chain.facilitator
        self.chain.send(sender, to, data, lambda sent: self._paid(deal, deal.authorization, payment, sent))

    # What they have in common.

    def _paid(self, deal, signed, payment, transaction):
        signed.state, signed.transaction = "used", transaction
        payment.transaction = deal.named = transaction

    def _send_named(self, deal, sender, to, data):
        self.chain.send(sender, to, data, lambda sent: setattr(deal, "named", sent))

    def _nonce(self, story):
        """Return a nonce that no other has. Some stand side by side in one word of Permit2's bitmap."""
        self._nonces += 1
        if story.number % 3 == 0:
            return self._nonces
        return int.from_bytes(keccak(text=f"{story.number} {self._nonces}"))

    def _signed(self, story, buyer, token, amount, facilitator, lifetime, nonce=None):
        """Sign an authorization. Return it, its message, and what settles an amount of it."""
        nonce = self._nonce(story) if nonce is None else nonce
        name, token = token, self.chain.tokens[token]
        to, until = self.chain.wallets[story.seller], self.chain.time + lifetime
        signed = Authorization(story.kind, token, nonce)
        if story.kind == "eip3009":
            words = nonce.to_bytes(32)
            signature = wire.signed_transfer(buyer, token, to, amount, until, words)
            part = {"from": buyer.address, "to": to, "value": str(amount), "validAfter": "0", "validBefore": str(until)}
            payload = {"authorization": part | {"nonce": "0x" + words.hex()}}
        else:
            proxy, witness = wire.EXACT, (to, 0)
            if story.kind == "permit2-upto":
                proxy, witness = wire.UPTO, (to, facilitator, 0)
            signature = wire.signed_permit(buyer, token, amount, proxy, nonce, until, *witness)
            payload = {"permit2Authorization": _permit(buyer, token, amount, proxy, nonce, until, witness)}
        if not isinstance(buyer, wire.Wallet):
            signature = {"compact": wire.compact, "with a high s": wire.twin}.get(story.form, bytes)(signature)
        payload["signature"] = "0x" + signature.hex()

        def settle(moved):
            """Return the contract and the call that move an amount, and the payment that they make."""
            payment = Payment(story.kind, buyer.address, to, token, moved, nonce)
            if story.kind == "eip3009":
                return token, wire.transfer_by_signature(buyer, to, amount, until, words, signature), payment
            options = {"with_permit": story.form == "with a permit"}
            if story.kind == "permit2-exact":
                data = wire.settle_exact(token, amount, nonce, until, buyer.address, to, signature, **options)
                payment.amount = amount
            else:
                terms = token, amount, nonce, until, moved, buyer.address, to, facilitator, signature
                data, payment.ceiling = wire.settle_upto(*terms, **options), amount
            if name == "taxed":
                payment.amount -= payment.amount // 10
            return proxy, data + b"a builder's code" * (story.form == "with bytes after it"), payment

        return signed, payload, settle


_ACTS = {
    "settles": Acts._settles,
    "settles by a router": Acts._settles_by_router,
    "settles two by a router": lambda acts, deal: acts._settles_by_router(deal, twin=1),
    "settles two of one buyer by a router": lambda acts, deal: acts._settles_by_router(deal, twin=0),
    "settles by a router among transfers": Acts._settles_among_transfers,
    "is overtaken": Acts._is_overtaken,
    "is cancelled": Acts._is_cancelled,
    "expires": Acts._is_left,
    "stays open": Acts._is_left,
    "names an earlier payment": Acts._names_earlier,
    "names a payment of another buyer": Acts._names_stranger,
    "names a plain transfer": Acts._names_transfer,
    "names no transaction of the chain": Acts._names_nothing,
    "settles another token": Acts._settles_another_token,
    "settles a token that moves another one": Acts._settles_pretender,
    "pays past the proxy": Acts._pays_past_proxy,
    "pays by an allowance": Acts._pays_by_allowance,
    "imitates the contract": Acts._imitates,
    "charges nothing and then all": Acts._charges_all_later,
    "sends it again": Acts._settles,
    "sends it twice at once": Acts._settles,
    "sends it for another token at once": Acts._settles,
}


def _permit(buyer, token, amount, proxy, nonce, until, witness):  # the fields of a message
    to, *facilitators, start = witness
    return {
        "from": buyer.address,
        "permitted": {"token": token, "amount": str(amount)},
        "spender": proxy,
        "nonce": str(nonce),
        "deadline": str(until),
        "witness": {"to": to, "validAfter": str(start)} | dict(zip(["facilitator"], facilitators, strict=False)),
    }
