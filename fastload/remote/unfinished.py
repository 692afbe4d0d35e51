"""Uploads in parts that were begun in an S3 bucket, and that nobody will complete.

No listing of objects shows their parts, which are paid for all the same. obstore cannot end them,
boto3 can. Azure drops such parts after a week by itself.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from fastload.remote.by_obstore import CONNECT, STILL
from fastload.remote.urls import Url

S3 = ("s3", "s3a")
# What obstore calls them, without AWS_ → what boto3 does
NAMES = {
    "endpoint": "endpoint_url", "endpoint_url": "endpoint_url",
    "region": "region_name", "default_region": "region_name",
    "access_key_id": "aws_access_key_id", "secret_access_key": "aws_secret_access_key",
    "token": "aws_session_token", "session_token": "aws_session_token",
}  # fmt: skip
REMEDY = (
    "parts of interrupted uploads may be left in the bucket, where listings do not show them; a "
    "lifecycle rule (AbortIncompleteMultipartUpload) removes them"
)


def end(url: Url, options: Mapping[str, object], ours: Callable[[str], bool]) -> str:
    """End such uploads of keys below the URL that are `ours`; what a user should know, or nothing.

    options: of the store, as obstore takes them.
    """
    if url.scheme not in S3:
        return REMEDY if url.scheme == "gs" else ""
    prefix = f"{unquote(url.path)}/".removeprefix("/")
    try:
        client = _client(options)
        pages = client.get_paginator("list_multipart_uploads").paginate(
            Bucket=url.host, Prefix=prefix
        )
        for page in pages:
            for each in page.get("Uploads", ()):
                if not ours(each["Key"].removeprefix(prefix)):
                    continue
                with contextlib.suppress(client.exceptions.NoSuchUpload):  # ended meanwhile
                    client.abort_multipart_upload(
                        Bucket=url.host, Key=each["Key"], UploadId=each["UploadId"]
                    )
    except Exception:  # noqa: BLE001  no boto3, no rights, or whatever the store says
        return REMEDY
    return ""


def _client(options: Mapping[str, object]) -> Any:
    """boto3's, with the same credentials. Raises ImportError and what boto3 raises."""
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    said = {name.lower().removeprefix("aws_"): value for name, value in options.items()}
    known = {NAMES[name]: value for name, value in said.items() if name in NAMES}
    known.setdefault("endpoint_url", os.environ.get("AWS_ENDPOINT") or None)
    limits: dict[str, Any] = {
        "connect_timeout": CONNECT, "read_timeout": STILL,
        "retries": {"mode": "standard", "max_attempts": 5},
    }  # fmt: skip
    if said.get("skip_signature"):
        limits["signature_version"] = UNSIGNED
    return boto3.client("s3", config=Config(**limits), **known)
