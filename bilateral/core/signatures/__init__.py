"""The messages that the registries verify, and the envelopes for sealed ratings."""

from bilateral.core.signatures.messages import (
    AgentWalletSet,
    Domain,
    Feedback,
    FeedbackAuth,
    TypedMessage,
    decode_feedback_auth,
    encode_feedback_auth,
    recover_feedback_auth_signer,
    recover_signer,
    sign_feedback_auth,
    signer_errors,
)

__all__ = ["AgentWalletSet", "Domain", "Feedback", "FeedbackAuth", "TypedMessage", "decode_feedback_auth"]
__all__ += ["encode_feedback_auth", "recover_feedback_auth_signer", "recover_signer", "sign_feedback_auth"]
__all__ += ["signer_errors"]
