"""An S3-compatible storage in memory, to try uploads and to test them: moto's server, which checks every signature with
botocore, Amazon's own library for Python.

    s3-server.py PORT ACCESS_KEY SECRET_KEY BUCKET...

What moto leaves out is added here: bodies are compared with the checksums that came with them, and signed links are checked.
The environment's FAULTS, a list of {"kind": "garbage", "count": 2, "method": "PUT", "query": "partNumber"}, spoils that many
answers of the first requests that they fit:

    garbage     200 with a body that is no XML and without any header of S3
    error       500
    truncated   the connection ends within the answer
    damaged     the object or part is stored with another byte in it, as a broken disk would

`POST /_keys {"access_key": "ASIA…", "secret_key": …, "token": …}` makes temporary keys the only ones that it knows.
"""

import base64
import hashlib
import json
import os
import sys
import threading
import types
import urllib.parse
import uuid

# What moto would otherwise ask a server of Amazon's for.
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto import settings
from moto.iam.models import AccessKey, iam_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends
from werkzeug.serving import run_simple

ACCOUNT = "123456789012"
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'


def refusal(code, status="400 Bad Request"):
    body = f'<?xml version="1.0"?>\n<Error><Code>{code}</Code><Message>refused</Message></Error>'.encode()
    return status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))], body


class Body:
    """A body that has been read."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def read(self, size=-1):
        end = len(self.data) if size is None or size < 0 else self.at + size
        data = self.data[self.at : end]
        self.at += len(data)
        return data


class Storage:
    def __init__(self, access_key, secret_key, buckets):
        self.credentials = Credentials(access_key, secret_key)
        self.app = DomainDispatcherApplication(create_backend_app)
        self.faults = json.loads(os.environ.get("FAULTS") or "[]")
        self.lock = threading.Lock()
        for bucket in buckets:
            s3_backends[ACCOUNT]["aws"].create_bucket(bucket, "us-east-1")
        iam = iam_backends[ACCOUNT]["aws"]
        self.user = user = iam.create_user("us-east-1", "mixer")
        key = AccessKey("mixer", "AKIA", ACCOUNT)
        key.access_key_id, key.secret_access_key = access_key, secret_key
        user.access_keys.append(key)
        iam.put_user_policy("mixer", "all", POLICY)
        iam.create_role("mixer", "{}", "/", None, "", [], "3600")
        iam.put_role_policy("mixer", "all", POLICY)
        # From here on, every call is checked.
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

    def __call__(self, environ, start_response):
        data = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if environ["PATH_INFO"] == "/_keys":
            self.renew(json.loads(data))
            start_response("204 No Content", [])
            return []
        query = urllib.parse.parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
        answer = self.checksum_fault(environ, data)
        if answer is None and "X-Amz-Signature" in query:
            answer = self.linked(environ, query)
        elif answer is None and "HTTP_AUTHORIZATION" not in environ:
            answer = refusal("AccessDenied", "403 Forbidden")
        fault = self.due(environ) if answer is None else None
        if fault == "error":
            answer = refusal("InternalError", "500 Internal Server Error")
        elif fault == "garbage":
            answer = "200 OK", [("Content-Type", "text/html"), ("Content-Length", "8")], b"<html>\0\xff"
        elif fault == "truncated":
            answer = "200 OK", [("Content-Length", "1000")], b"<Incomplete"
        if answer is None:
            if fault == "damaged" and data:
                data = data[:-1] + bytes([data[-1] ^ 1])
                # So that moto computes its own.
                environ.pop("HTTP_X_AMZ_CHECKSUM_SHA256", None)
                return self.unchecked(environ, data, start_response)
            environ["wsgi.input"] = Body(data)
            return self.app(environ, start_response)
        status, headers, body = answer
        start_response(status, headers)
        return [body]

    def unchecked(self, environ, data, start_response):
        environ["wsgi.input"] = Body(data)
        settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
        try:
            return self.app(environ, start_response)
        finally:
            settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

    def renew(self, keys):
        """Knows these temporary keys, as those of a role, and no others."""
        self.credentials = Credentials(keys["access_key"], keys["secret_key"], keys["token"])
        role = types.SimpleNamespace(
            access_key_id=keys["access_key"], secret_access_key=keys["secret_key"], session_token=keys["token"],
            role_arn=f"arn:aws:iam::{ACCOUNT}:role/mixer", session_name="mixer",
        )  # fmt: skip
        sts_backends[ACCOUNT]["aws"].assumed_roles[:] = [role]
        self.user.access_keys.clear()

    def due(self, environ):
        with self.lock:
            for fault in self.faults:
                if fault.get("method", environ["REQUEST_METHOD"]) == environ["REQUEST_METHOD"] and (
                    fault.get("query", "") in environ["QUERY_STRING"]
                ):
                    fault["count"] -= 1
                    if fault["count"] <= 0:
                        self.faults.remove(fault)
                    return fault["kind"]
        return None

    @staticmethod
    def checksum_fault(environ, data):
        sent = {
            "HTTP_CONTENT_MD5": base64.b64encode(hashlib.md5(data).digest()).decode(),
            "HTTP_X_AMZ_CHECKSUM_SHA256": base64.b64encode(hashlib.sha256(data).digest()).decode(),
            "HTTP_X_AMZ_CONTENT_SHA256": hashlib.sha256(data).hexdigest(),
        }
        for name, value in sent.items():
            if name in environ and environ[name] != value:
                return refusal("BadDigest")
        return None

    def linked(self, environ, query):
        """Answers a signed link: the signature of everything else in it, by botocore."""
        pairs = urllib.parse.parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
        rest = "&".join(
            f"{name}={urllib.parse.quote(value, safe='-_.~')}" for name, value in pairs if name != "X-Amz-Signature"
        )
        path = urllib.parse.quote(environ["PATH_INFO"].encode("latin-1"), safe="/-_.~")
        region = query["X-Amz-Credential"][0].split("/")[2]
        if query.get("X-Amz-Security-Token", [None])[0] != self.credentials.token:
            return refusal("InvalidToken", "403 Forbidden")
        auth = S3SigV4QueryAuth(self.credentials, "s3", region)
        request = AWSRequest(
            environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{path}?{rest}", {"Host": environ["HTTP_HOST"]}
        )
        request.context["timestamp"] = query["X-Amz-Date"][0]
        text = auth.string_to_sign(request, auth.canonical_request(request))
        if auth.signature(text, request) != query["X-Amz-Signature"][0]:
            return refusal("SignatureDoesNotMatch", "403 Forbidden")
        bucket, _, key = environ["PATH_INFO"].lstrip("/").partition("/")
        found = s3_backends[ACCOUNT]["aws"].get_object(bucket, key)
        if found is None:
            return refusal("NoSuchKey", "404 Not Found")
        value = found.value
        return "200 OK", [("Content-Type", "application/octet-stream"), ("Content-Length", str(len(value)))], value


class Handler(MotoRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    storage = Storage(sys.argv[2], sys.argv[3], sys.argv[4:])
    run_simple("127.0.0.1", int(sys.argv[1]), storage, threaded=True, request_handler=Handler)


main()
