"""Calls of the ApsaraVideo Live interface through Alibaba Cloud's SDKs, see scripts/sdk-call.sh.

In:  {"action": "StartLiveMPUTask", "parameters": {"AppId": "shop", ...}}, with the names of the interface
Out: {"body": {...}}, what the SDK made of the answer; or
     {"error": {"type", "code", "message", "status", "requestId", "retryAfter"}}, of the exception that it threw
"""

import importlib
import json
import os
import sys


class New:
    """alibabacloud_live20161101: requests and answers are typed models."""

    def __init__(self, endpoint, key, algorithm):
        from alibabacloud_live20161101 import models
        from alibabacloud_live20161101.client import Client
        from alibabacloud_tea_openapi.models import Config

        config = Config(
            access_key_id=key,
            access_key_secret=os.environ["SECRET"],
            security_token=os.environ.get("SECURITY_TOKEN"),
            endpoint=endpoint,
            protocol="http",
            signature_algorithm=algorithm,
        )
        if config.security_token:
            config.type = "sts"
        self.client = Client(config)
        self.models = models
        self.methods = {
            name.replace("_", ""): getattr(self.client, name)
            for name in dir(self.client)
            if not name.startswith("_") and not name.endswith(("_async", "_with_options"))
        }

    def call(self, action, parameters):
        request = getattr(self.models, action + "Request")()
        request = request.from_map(parameters) or request
        return self.methods[action.lower()](request).body.to_map()

    @staticmethod
    def error(error):
        return {
            "code": getattr(error, "code", None),
            "message": getattr(error, "message", str(error)),
            "status": getattr(error, "status_code", None),
            "requestId": getattr(error, "request_id", None),
            "retryAfter": getattr(error, "retry_after", None),
        }


class Legacy:
    """aliyun-python-sdk-live: requests have setters, answers are the bytes that came."""

    def __init__(self, endpoint, key):
        from aliyunsdkcore.auth.credentials import StsTokenCredential
        from aliyunsdkcore.client import AcsClient

        secret, token = os.environ["SECRET"], os.environ.get("SECURITY_TOKEN")
        if token:
            self.client = AcsClient(region_id="cn-shanghai", credential=StsTokenCredential(key, secret, token))
        else:
            self.client = AcsClient(key, secret, "cn-shanghai")
        self.endpoint = endpoint

    def call(self, action, parameters):
        module = importlib.import_module(f"aliyunsdklive.request.v20161101.{action}Request")
        request = getattr(module, action + "Request")()
        request.set_endpoint(self.endpoint)
        request.set_protocol_type("http")
        for name, value in parameters.items():
            # Setters of lists are named in the plural of the plural.
            set_value = getattr(request, f"set_{name}s", None) or getattr(request, f"set_{name}")
            set_value(value)
        return json.loads(self.client.do_action_with_exception(request))

    @staticmethod
    def error(error):
        return {
            "code": error.get_error_code() if hasattr(error, "get_error_code") else None,
            "message": error.get_error_msg() if hasattr(error, "get_error_msg") else str(error),
            "status": error.get_http_status() if hasattr(error, "get_http_status") else None,
            "requestId": error.get_request_id() if hasattr(error, "get_request_id") else None,
        }


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("new", "v1", "legacy"):
        sys.exit("usage: SECRET=... sdk-call.py new|v1|legacy HOST:PORT ACCESS_KEY_ID")
    kind, endpoint, key = sys.argv[1:]
    sdk = Legacy(endpoint, key) if kind == "legacy" else New(endpoint, key, "v2" if kind == "v1" else None)
    for line in sys.stdin:
        call = json.loads(line)
        try:
            answer = {"body": sdk.call(call["action"], call["parameters"])}
        except Exception as error:  # Whatever it throws is what is asked for.
            answer = {"error": {"type": type(error).__name__, **sdk.error(error)}}
        print(json.dumps(answer), flush=True)


main()
