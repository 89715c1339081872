"""What happens in each channel, with the payments that its payer made by its own money."""

from __future__ import annotations

from eth_utils.crypto import keccak

from tests.payments import wire
from tests.payments.acts import LONG, Payment

DEPOSIT, CLAIMS = 1_000, 50


class Channels:
    """Plays the stories of channels on a chain.

    Attributes:
        returns: What sellers paid to buyers.
    """

    def __init__(self, chain):
        self.chain = chain
        self.returns: list[Payment] = []

    def play(self, story):
        """Send all transactions of a story, and return its payments, which are complete when they are mined."""
        buyer, seller = self.chain.buyers[story.buyer], self.chain.sellers[story.seller]
        token = self.chain.tokens["dollar"]
        if story.act == "pays a buyer":
            buyer, seller = seller, buyer
        is_strange = story.act == "claims of a stranger's deposit"
        # A stranger chooses the key that signs vouchers, too. The payer never signs anything.
        channel = wire.Channel(
            buyer,
            seller.address,
            token,
            keccak(text=f"channel {story.number}"),
            self.chain.patron if is_strange else None,
        )
        payments = []

        def claim(total, *totals):
            claims = [channel.claim(DEPOSIT, number) for number in (total, *totals)]
            self.chain.send(seller, wire.CHANNELS, wire.claimed(*claims), *then)

        def pays(amount):
            payment = Payment("channel", buyer.address, seller.address, token, amount, int.from_bytes(channel.id))
            payments.append(payment)
            then[:] = [lambda sent: setattr(payment, "transaction", sent)]

        then = []
        if is_strange:
            self._sponsor(channel, DEPOSIT)
            claim(700)
        elif story.act == "claims of both deposits":
            self._deposit(story, channel, DEPOSIT // 2)
            self._sponsor(channel, DEPOSIT // 2)
            pays(DEPOSIT // 2)  # the payer's money goes first, and the rest is a stranger's
            claim(700)
        else:
            self._deposit(story, channel, DEPOSIT)
            if story.act == "claims fifty times":
                pays(CLAIMS)
                claim(*range(1, CLAIMS + 1))
            elif story.act == "claims again":
                pays(300)
                claim(300)
                pays(400)
                claim(700)
                then.clear()
                claim(700)
                claim(300)
            else:
                pays(700)
                claim(700)
        if story.act == "claims and refunds":
            self.chain.send(seller, wire.CHANNELS, wire.refunded(channel, DEPOSIT))
        if story.act == "pays a buyer" and story.seller < len(self.chain.agents):
            self.returns.append(payments.pop())
        self.chain.send(self.chain.relayer, wire.CHANNELS, wire.swept(seller.address, token))
        return payments

    def _deposit(self, story, channel, amount):
        until = self.chain.time + LONG
        if story.collector == "eip3009":
            collector, data = wire.EIP3009_COLLECTOR, wire.deposit_by_eip3009(channel, amount, story.number, until)
        else:
            nonce = int.from_bytes(keccak(text=f"deposit {story.number}"))
            collector, data = wire.PERMIT2_COLLECTOR, wire.deposit_by_permit2(channel, amount, nonce, until)
        self.chain.send(self.chain.relayer, wire.CHANNELS, wire.deposited(channel, amount, collector, data))

    def _sponsor(self, channel, amount):
        """Deposit by a collector that takes a stranger's money."""
        data = wire.word(self.chain.patron.address)
        call = wire.deposited(channel, amount, self.chain.sponsor, data)
        self.chain.send(self.chain.patron, wire.CHANNELS, call)
