"""Documents that the chain names: registration files and feedback files, their hashes, loaders and stores."""

from bilateral.documents.feedback import FeedbackFile, ProofOfInteraction, ProofOfPayment, prepare_feedback_file
from bilateral.documents.hashing import document_hash, verify_hash
from bilateral.documents.http import Limits, Network, Validators
from bilateral.documents.ipfs_stores import KuboStore, PinataStore, PinningStore
from bilateral.documents.loader import Document, Loader
from bilateral.documents.registration import Registration, RegistrationFile, Service, Signer
from bilateral.documents.stores import DataUriStore, FolderStore, HttpPutStore, Store, StoredDocument

__all__ = [
    "DataUriStore",
    "Document",
    "FeedbackFile",
    "FolderStore",
    "HttpPutStore",
    "KuboStore",
    "Limits",
    "Loader",
    "Network",
    "PinataStore",
    "PinningStore",
    "ProofOfInteraction",
    "ProofOfPayment",
    "Registration",
    "RegistrationFile",
    "Service",
    "Signer",
    "Store",
    "StoredDocument",
    "Validators",
    "document_hash",
    "prepare_feedback_file",
    "verify_hash",
]
