"""An S3 server (moto) in its own process, and its buckets."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from pipeline.storage import requests

KEY, SECRET, REGION = "carrara", "carrara-secret", "us-east-1"
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
"""The script of the server, which ends when its standard input is closed."""


def environment(url: str) -> dict[str, str]:
    """Return the environment variables for clients of a server."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": "127.0.0.1",
    }


@contextmanager
def settled(url: str) -> Iterator[None]:
    """Point this process at a server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(url).items():
            patch.setenv(name, value)
        patch.setattr(requests, "_OPEN", {})  # open file systems may be for a server that is already stopped
        yield


class Buckets:
    """The server; `page` is the number of objects in a page of a listing."""

    def __init__(self, page: int = 1000) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": str(page)},
            start_new_session=True,
        )
        assert self._process.stdout
        host, port = self._process.stdout.readline().split()
        self.host, self.port = host, int(port)
        self.url = f"http://{host}:{port}"
        self.client = _client(self.url)
        self._made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill the process."""
        self.client.close()
        self._process.kill()
        self._process.communicate(timeout=10)

    def signalled(self, number: int) -> None:
        """Send the process a signal, such as SIGSTOP or SIGCONT."""
        self._process.send_signal(number)

    def bucket(self) -> str:
        """Make a new bucket and return its name."""
        self._made += 1
        name = f"bucket-{self._made}"
        self.client.create_bucket(Bucket=name)
        self.client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        return name

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.client.put_object(Bucket=bucket, Key=key, Body=body)

    def body(self, bucket: str, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=bucket, Key=key)["Body"].read())

    def stamps(self, bucket: str, prefix: str = "") -> dict[str, str]:
        """Return the version of every object, which changes with each write, by its key after the prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {key.removeprefix(prefix): self._version(bucket, key) for key in keys}

    def _version(self, bucket: str, key: str) -> str:
        return str(self.client.head_object(Bucket=bucket, Key=key).get("VersionId"))

    def contents(self, bucket: str, prefix: str = "") -> dict[str, str]:
        """Return the digest of every object, by its key after the prefix."""
        keys = self.stamps(bucket, prefix)
        return {key: hashlib.sha256(self.body(bucket, prefix + key)).hexdigest() for key in keys}

    def unfinished(self, bucket: str) -> list[str]:
        """Return the keys of multipart uploads that were neither completed nor aborted."""
        uploads = self.client.list_multipart_uploads(Bucket=bucket).get("Uploads", ())
        return [each["Key"] for each in uploads]


def _client(url: str) -> Any:
    import boto3
    from botocore.config import Config

    named = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
    return boto3.client("s3", endpoint_url=url, config=Config(s3={"addressing_style": "path"}), **named)
