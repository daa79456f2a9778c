"""Reads a Parquet download by its URL: three columns of forty, with a filter, by one of several programs.

Arguments: the program, the URL, the token, the least `id`. Prints one JSON object: `rows`, `sum` of `number` and `text`, the length of all values of `text`.
"""

import json
import pathlib
import sys

import pyarrow.compute

program, url, token, least_id = sys.argv[1:]
COLUMNS = ["id", "number", "text"]


def pyarrow_fsspec(least):
    import fsspec
    import pyarrow.parquet

    headers = {"Authorization": f"Bearer {token}"}
    files = fsspec.filesystem("http", headers=headers, cache_type="none")
    # Not by the name in a file system: fsspec would then request the whole file to find out whether it is a folder.
    with files.open(url) as file:
        return pyarrow.parquet.read_table(file, columns=COLUMNS, filters=[("id", ">=", least)])


def polars_scan(least):
    import polars

    # It has no option for a credential: the proxy adds it.
    frame = polars.scan_parquet(url)
    return frame.filter(polars.col("id") >= least).select(COLUMNS).collect().to_arrow()


def duckdb_httpfs(least):
    import duckdb
    import duckdb_extension_httpfs

    (extension,) = pathlib.Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension")
    database = duckdb.connect()
    database.execute(f"LOAD '{extension}'")
    database.execute(f"CREATE SECRET gateway (TYPE http, BEARER_TOKEN '{token}')")
    return database.execute(f"SELECT {', '.join(COLUMNS)} FROM read_parquet('{url}') WHERE id >= {least}").to_arrow_table()


READERS = {"pyarrow": pyarrow_fsspec, "polars": polars_scan, "duckdb": duckdb_httpfs}
table = READERS[program](int(least_id))
print(
    json.dumps(
        {
            "rows": table.num_rows,
            "sum": pyarrow.compute.sum(table["number"]).as_py(),
            "text": pyarrow.compute.sum(pyarrow.compute.binary_length(table["text"])).as_py(),
        }
    )
)
