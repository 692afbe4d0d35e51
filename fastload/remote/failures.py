"""What went wrong in a request, by its cause: whether another try may help, and what users read.

Texts of the libraries below hold whole URLs with their signatures. So only the server's status and
its error code are taken from them.
"""

import re
from enum import Enum

from fastload.errors import ObjectChangedError, StoreAccessError, StoreError

STATUS = re.compile(r"status code: (\d{3} [A-Za-z ]+?)(?::|$|\n)")
CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
SKIP = {"s3": "AWS_SKIP_SIGNATURE", "gs": "GOOGLE_SKIP_SIGNATURE", "az": "AZURE_SKIP_SIGNATURE"}
EXPIRED = ("ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired")
REFUSED = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed")
REGION = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName")


class Cause(Enum):
    """Why a request failed."""

    MISSING = "the object is not there"
    BUCKET = "there is no such bucket"
    DENIED = "no rights"
    CREDENTIALS = "no credentials, or expired ones"
    REGION = "another region"
    CHANGED = "another object than before"
    KEY = "a key that no file can have"
    NO_RANGES = "the server sends whole objects only"
    BUSY = "the server asks for patience"
    NETWORK = "no answer, or half of one"
    OTHER = "anything else"

    @property
    def passes(self) -> bool:
        """Whether another try may go better."""
        return self in (Cause.BUSY, Cause.NETWORK)


class FailureError(Exception):
    """One request that failed. said: in a few words, without a URL."""

    def __init__(self, cause: Cause, said: str) -> None:
        super().__init__(said)
        self.cause, self.said = cause, said


def of_obstore(error: Exception) -> FailureError:
    """What obstore has raised."""
    kind, text = type(error).__name__, str(error)
    status, code = STATUS.search(text), CODE.search(text)
    said = (status[1].strip() if status else "") + (f" {code[1]}" if code else "")
    return FailureError(_cause(kind, text, said), said or _plain(text))


def _cause(kind: str, text: str, said: str) -> Cause:
    number = said[:3]
    if any(code in said for code in BUCKET):
        return Cause.BUCKET
    if any(code in said for code in (*EXPIRED, *REFUSED)) or kind == "UnauthenticatedError":
        return Cause.CREDENTIALS
    if any(code in said for code in REGION) or "without LOCATION" in text:
        return Cause.REGION
    if "169.254." in text or "metadata.google" in text or "redential" in text.partition("\n")[0]:
        return Cause.CREDENTIALS
    if kind == "InvalidPathError" or "invalid path" in text:
        return Cause.KEY
    by_kind = {
        "FileNotFoundError": Cause.MISSING,
        "NotFoundError": Cause.MISSING,
        "PermissionDeniedError": Cause.DENIED,
        "PreconditionError": Cause.CHANGED,
        "NotSupportedError": Cause.NO_RANGES,
    }
    if kind in by_kind:
        return by_kind[kind]
    if number in ("408", "425", "429") or number.startswith("5"):
        return Cause.BUSY
    if number == "416":  # shorter than the index says
        return Cause.CHANGED
    return Cause.OTHER if number else Cause.NETWORK


def _plain(text: str) -> str:
    """The first line of a library's text, without URLs and what stands before them."""
    line = text.partition("\n")[0].rpartition(" - ")[2]
    return re.sub(r"\S*://\S*", "…", line)[:120] or "no answer"


def typed(failure: FailureError, scheme: str, where: str) -> StoreError:
    """The error that users get. where: the object, as it is shown."""
    said, skip = failure.said, SKIP.get(scheme.removesuffix("a"), "")
    public = f", or set {skip}=true for public data" if skip else ""
    errors = {
        Cause.MISSING: StoreError(
            f"{where}: is not there ({said}); check the URL, or restore the object"
        ),
        Cause.BUCKET: StoreError(
            f"{where}: there is no such bucket ({said}); check the URL and the endpoint"
        ),
        Cause.DENIED: StoreAccessError(
            f"{where}: access is denied ({said}); check the rights of the credentials{public}"
        ),
        Cause.CREDENTIALS: StoreAccessError(
            f"{where}: there are no credentials that the store takes ({said}); renew or set "
            f"them{public}"
        ),
        Cause.REGION: StoreAccessError(
            f"{where}: the bucket is in another region ({said}); set AWS_REGION to its own"
        ),
        Cause.CHANGED: ObjectChangedError(
            f"{where}: has changed since the data set was opened ({said}); open it again"
        ),
        Cause.KEY: StoreError(
            f"{where}: has a key that cannot be a file's name; rename the object"
        ),
        Cause.NO_RANGES: StoreError(
            f"{where}: the server sends no ranges of bytes; use one that does, such as nginx"
        ),
    }
    unknown = StoreError(f"{where}: cannot be read ({said}); check the store and the URL")
    error = errors.get(failure.cause, unknown)
    error.missing = failure.cause is Cause.MISSING
    return error
