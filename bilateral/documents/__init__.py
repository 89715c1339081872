"""Documents referenced on chain: registration and feedback files, their hashes, loaders and stores."""

# ruff: noqa: F403, F405  # `__all__` lists what is public of the stores

from bilateral.documents.feedback import FeedbackFile, ProofOfInteraction, ProofOfPayment, prepare_feedback_file
from bilateral.documents.hashing import document_hash, verify_hash
from bilateral.documents.http import Limits, Network, Validators
from bilateral.documents.loader import Document, Loader
from bilateral.documents.registration import Registration, RegistrationFile, Service, Signer
from bilateral.documents.stores import *

__all__ = ["FeedbackFile", "ProofOfInteraction", "ProofOfPayment", "prepare_feedback_file"]
__all__ += ["Registration", "RegistrationFile", "Service", "Signer", "document_hash", "verify_hash"]
__all__ += ["Document", "Limits", "Loader", "Network", "Validators"]
__all__ += ["DataUriStore", "FolderStore", "HttpPutStore", "KuboStore", "PinataStore", "PinningStore"]
__all__ += ["Store", "StoredDocument"]
