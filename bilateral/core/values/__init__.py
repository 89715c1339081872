"""Feedback values, computations on them, and argument checks."""

from bilateral.core.values.feedback import (
    MAX_DECIMALS,
    MAX_VALUE,
    MEASURED_TAGS,
    STANDARD_TAGS,
    FeedbackValue,
    HumanValue,
    human_for_tag,
    resembled_tag,
    stars_to_value,
    value_for_tag,
    value_to_stars,
)

__all__ = ["MAX_DECIMALS", "MAX_VALUE", "MEASURED_TAGS", "STANDARD_TAGS", "FeedbackValue", "HumanValue"]
__all__ += ["human_for_tag", "resembled_tag", "stars_to_value", "value_for_tag", "value_to_stars"]
