"""Kinds of x402 payments on EVM chains: what the payer signs, how payments settle, and what transactions prove.

Clients, servers, the index, the service for buyers, the aggregator and the web pages all interpret payments with these
functions. `docs/x402.md` contains the table of kinds.
"""

from bilateral.core.payments.kinds import PROVABLE, PaymentKind, kind_of, kind_of_terms, signed_part
from bilateral.core.payments.settling import ProxyCall, ReceiptLog, inner_calls, proxy_call, settled_calls
from bilateral.core.payments.signed import InvalidPaymentError, SignedPayment, authorization_identity

__all__ = ["PROVABLE", "InvalidPaymentError", "PaymentKind", "ProxyCall", "ReceiptLog", "SignedPayment"]
__all__ += ["authorization_identity", "inner_calls", "kind_of", "kind_of_terms", "proxy_call", "settled_calls"]
__all__ += ["signed_part"]
