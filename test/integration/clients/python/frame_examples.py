"""Runs examples of the documentation that read a result with the columns `orderId` and `city` into `frame`.

Arguments: URL of the gateway, token, id of the result, a JSON file with the examples by name. The working directory has the downloaded files.
Prints one JSON object: the rows of each example, with every `orderId` as text.
"""

import json
import sys

gateway, token, result, examples = sys.argv[1:]


def rows(frame):
    for method in ("rows", "fetchall"):
        if hasattr(frame, method):
            return getattr(frame, method)()
    return frame.values.tolist()


def run(code):
    scope = {"gateway": gateway, "headers": {"Authorization": f"Bearer {token}"}, "id": result}
    exec(code, scope)
    return [[str(order), city] for order, city in rows(scope["frame"])]


with open(examples, encoding="utf8") as file:
    print(json.dumps({name: run(code) for name, code in json.load(file).items()}))
