"""All actions, as one type for bodies of requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bilateral.api.actions.feedback import AppendResponse, GiveFeedback, RevokeFeedback

AnyAction = Annotated[GiveFeedback | RevokeFeedback | AppendResponse, Field(discriminator="action")]
"""An action of any kind; its field `action` says which."""
