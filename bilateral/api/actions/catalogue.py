"""All actions, as one type for bodies of requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bilateral.api.actions.agents import EditRegistration, RegisterAgent, SetAgentWallet, SetPrimaryAgent
from bilateral.api.actions.feedback import AppendResponse, GiveFeedback, RevokeFeedback
from bilateral.api.actions.ratings import AuthorizeFeedback, RateClient, RateValidator, RespondToValidation
from bilateral.api.actions.reviews import PublishReview
from bilateral.api.actions.sponsored import SponsoredFeedback

AnyAction = Annotated[
    RegisterAgent
    | EditRegistration
    | SetAgentWallet
    | SetPrimaryAgent
    | GiveFeedback
    | RevokeFeedback
    | AppendResponse
    | RateClient
    | RateValidator
    | RespondToValidation
    | AuthorizeFeedback
    | PublishReview
    | SponsoredFeedback,
    Field(discriminator="action"),
]
"""An action of any kind; its field `action` says which."""
