"""Runs a query through a gateway into a pandas DataFrame in one of several ways, each in a process of its own.

Arguments: the way, URL of the gateway, SQL, JSON of headers. Prints one JSON object: wall time in milliseconds from the request to the frame (without
imports), growth of the process's memory up to its peak in MB, and sums that depend on all rows.
"""

import json
import resource
import sys
import time
import urllib.parse
import urllib.request

import pandas
import pinotdb
import pyarrow
import pyarrow.csv
import pyarrow.ipc

way, gateway, sql, headers_text = sys.argv[1:]
headers = json.loads(headers_text)
PAGE_ROWS = 10_000
LIMIT_SECONDS = 600
TYPES = {
    "orderId": pyarrow.int64(),
    "city": pyarrow.string(),
    "ts": pyarrow.int64(),
    "tags": pyarrow.string(),
    "price": pyarrow.float64(),
    "customer": pyarrow.string(),
    "quantity": pyarrow.int32(),
    "status": pyarrow.string(),
}


def opened(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gateway + path, data, headers | {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=LIMIT_SECONDS)


def submitted(rows):
    return json.load(opened(f"/query/sql?doPaginate=true&numRows={rows}", {"sql": sql}))


def download(kind):
    return opened(f"/query/{submitted(1)['requestId']}/results?format={kind}")


def through_pinotdb():
    url = urllib.parse.urlsplit(gateway)
    extra = ",".join(f"{name}={value}" for name, value in headers.items())
    connection = pinotdb.connect(
        host=url.hostname, port=url.port, path="/query/sql", timeout=LIMIT_SECONDS, extra_request_headers=extra
    )
    cursor = connection.cursor()
    cursor.execute(sql)
    return pandas.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])


def through_pages():
    page = submitted(PAGE_ROWS)
    rows = page["resultTable"]["rows"]
    while "nextUrl" in page:
        page = json.load(opened(page["nextUrl"]))
        rows += page["resultTable"]["rows"]
    return pandas.DataFrame(rows, columns=page["resultTable"]["dataSchema"]["columnNames"])


def arrow():
    return pyarrow.ipc.open_stream(download("arrow")).read_pandas(types_mapper=pandas.ArrowDtype)


def csv():
    options = pyarrow.csv.ConvertOptions(column_types=TYPES)
    return pyarrow.csv.read_csv(download("csv"), convert_options=options).to_pandas(types_mapper=pandas.ArrowDtype)


def jsonl():
    return pandas.DataFrame([json.loads(line) for line in download("jsonl")], columns=list(TYPES))


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


WAYS = {"pinotdb": through_pinotdb, "pages": through_pages, "arrow": arrow, "csv": csv, "jsonl": jsonl}
before = peak_mb()
started = time.perf_counter()
frame = WAYS[way]()
wall_ms = (time.perf_counter() - started) * 1000
memory_mb = peak_mb() - before
sums = {
    "rows": len(frame),
    # As Python's integers, which do not overflow.
    "orderId": str(sum(frame["orderId"].tolist())),
    "quantity": int(frame["quantity"].sum()),
    "customer": int(frame["customer"].str.len().sum()),
}
print(json.dumps({"wallMs": wall_ms, "memoryMb": memory_mb, "sums": sums}))
