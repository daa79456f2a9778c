"""Each query has an idempotency key of its own: one key for several queries is refused with 422."""

import re
import uuid

import schemathesis

VALID = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")


@schemathesis.hook
def before_call(context, case, kwargs):
    headers = case.headers or {}
    key = headers.get("idempotency-key")
    if isinstance(key, str) and VALID.fullmatch(key):
        headers["idempotency-key"] = str(uuid.uuid4())
