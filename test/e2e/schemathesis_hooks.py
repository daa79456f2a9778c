"""Each query has an idempotency key of its own: with the example of the document, all but one would be refused."""

import uuid

import schemathesis

EXAMPLE = "8e03978e-40d5-43e8-bc93-6894a57f9324"


@schemathesis.hook
def before_call(context, case, kwargs):
    headers = case.headers or {}
    if headers.get("idempotency-key") == EXAMPLE:
        headers["idempotency-key"] = str(uuid.uuid4())
