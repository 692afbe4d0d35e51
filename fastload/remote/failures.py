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
HTTP = {"s3": "AWS_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP"}
EXPIRED = ("ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired")
REFUSED = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed")
REGION = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName")
# Of requests that did not arrive as they were sent, whatever their status
AGAIN = ("RequestTimeout", "SlowDown", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch")


class Cause(Enum):
    """Why a request failed."""

    MISSING = "the object is not there"
    BUCKET = "there is no such bucket"
    DENIED = "no rights"
    CREDENTIALS = "no credentials, or expired ones"
    REGION = "another region"
    CHANGED = "another object than before"
    KEY = "a key that no file can have"
    HTTP = "an endpoint that is not encrypted, and not allowed"
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


BY_CODE = (
    (Cause.BUCKET, BUCKET),
    (Cause.CREDENTIALS, (*EXPIRED, *REFUSED)),
    (Cause.REGION, REGION),
    (Cause.BUSY, AGAIN),
)
BY_TEXT = (
    (Cause.REGION, "without LOCATION"),
    (Cause.HTTP, "builder error"),
    (Cause.MISSING, "Not a directory (os error"),  # nothing lies below a file
)
BY_KIND = {
    "FileNotFoundError": Cause.MISSING,
    "NotFoundError": Cause.MISSING,
    "PermissionDeniedError": Cause.DENIED,
    "UnauthenticatedError": Cause.CREDENTIALS,
    "PreconditionError": Cause.CHANGED,
    "AlreadyExistsError": Cause.CHANGED,
    "NotSupportedError": Cause.NO_RANGES,
}


def of_obstore(error: Exception) -> FailureError:
    """What obstore has raised."""
    kind, text = type(error).__name__, str(error)
    status, code = STATUS.search(text), CODE.search(text)
    said = (status[1].strip() if status else "") + (f" {code[1]}" if code else "")
    return FailureError(_cause(kind, text, said), said or _plain(text))


def _cause(kind: str, text: str, said: str) -> Cause:
    number = said[:3]
    for cause, codes in BY_CODE:
        if any(code in said for code in codes):
            return cause
    if "169.254." in text or "metadata.google" in text or "redential" in text.partition("\n")[0]:
        return Cause.CREDENTIALS
    if kind == "InvalidPathError" or "invalid path" in text:
        return Cause.KEY
    for cause, words in BY_TEXT:
        if words in text:
            return cause
    if kind in BY_KIND:
        return BY_KIND[kind]
    if number in ("408", "425", "429") or number.startswith("5"):
        return Cause.BUSY
    if number == "416":  # shorter than the index says
        return Cause.CHANGED
    return Cause.OTHER if number else Cause.NETWORK


def _plain(text: str) -> str:
    """The first line of a library's text, without URLs and what stands before them."""
    line = text.partition("\n")[0].rpartition(" - ")[2]
    return re.sub(r"\S*://\S*", "…", line)[:120] or "no answer"


def typed(failure: FailureError, scheme: str, where: str, *, writes: bool = False) -> StoreError:
    """The error that users get. where: the object, as it is shown."""
    said, skip = failure.said, SKIP.get(scheme.removesuffix("a"), "")
    public = f", or set {skip}=true for public data" if skip and not writes else ""
    what = "written" if writes else "read"
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
        Cause.HTTP: StoreError(
            f"{where}: no request can be made ({said}); check the endpoint; one of http:// needs "
            f"{HTTP.get(scheme.removesuffix('a'), 'allow_http')}=true"
        ),
        Cause.NO_RANGES: StoreError(
            f"{where}: the server sends no ranges of bytes; use one that does, such as nginx"
        ),
    }
    unknown = StoreError(f"{where}: cannot be {what} ({said}); check the store and the URL")
    error = errors.get(failure.cause, unknown)
    error.missing = failure.cause is Cause.MISSING
    return error
