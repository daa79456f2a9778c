"""Reads downloads with pandas, polars and DuckDB and compares every value with the broker's answer.

Argument: a folder with `answer.json` (the broker's answer), `rows.arrow`, `rows.parquet`, `rows.csv` and `rows.jsonl`.
Prints one JSON object: for each reader the names of its columns, the number of compared values and the first differences. JSON lines have no names.
"""

import csv as csv_fields
import datetime
import decimal
import json
import math
import pathlib
import struct
import sys

import duckdb
import pandas
import polars
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

folder = pathlib.Path(sys.argv[1])
answer_text = (folder / "answer.json").read_text("utf8")
schema = json.loads(answer_text)["resultTable"]["dataSchema"]
names, types = schema["columnNames"], schema["columnDataTypes"]
# Every numeral as the broker spelled it.
spelled = json.loads(answer_text, parse_int=str, parse_float=str)["resultTable"]["rows"]


def fits(column):
    """Whether one decimal type of 38 digits has all values of the column, with all their digits."""
    numbers = [decimal.Decimal(row[column]).as_tuple() for row in spelled if row[column] is not None]
    scale = max((max(0, -number.exponent) for number in numbers), default=0)
    return all(len(number.digits) + number.exponent + scale <= 38 for number in numbers)


# A column of decimals that do not fit is text.
types = ["STRING" if kind == "BIG_DECIMAL" and not fits(at) else kind for at, kind in enumerate(types)]
arrow, parquet, csv, lines = (str(folder / f"rows.{suffix}") for suffix in ("arrow", "parquet", "csv", "jsonl"))


def expected(kind, value):
    """What a data frame has for a value of the broker's answer."""
    if value is None:
        return None
    if kind.endswith("_ARRAY"):
        return [expected(kind[: -len("_ARRAY")], item) for item in value]
    if kind in ("INT", "LONG"):
        return int(value)
    if kind == "DOUBLE":
        return float(value)
    if kind == "FLOAT":
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    if kind == "BYTES":
        return bytes.fromhex(value)
    if kind == "TIMESTAMP":
        return datetime.datetime.strptime(value, "%Y-%m-%d %H:%M:%S.%f")
    if kind == "BIG_DECIMAL":
        return decimal.Decimal(value)
    return value


def from_text(kind, text):
    """The value of a field of CSV, which has no types."""
    if text is None:
        return None
    if kind.endswith("_ARRAY"):
        return expected(kind, json.loads(text, parse_int=str, parse_float=str))
    if kind == "BOOLEAN":
        return {"true": True, "false": False}[text]
    return expected(kind, text)


def from_json(kind, value):
    """The value of a field of JSON lines, whose numbers with a fraction were read as decimals."""
    return from_text(kind, json.dumps(value, default=str)) if isinstance(value, list) else from_text(kind, spelling(value))


def spelling(value):
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        # Also the sign of zero.
        return math.isnan(one) and math.isnan(other) or (one == other and math.copysign(1, one) == math.copysign(1, other))
    return type(one) is type(other) and one == other


def stream():
    return pyarrow.ipc.open_stream(open(arrow, "rb"))


def from_pandas(frame):
    return list(frame), zip(*(frame[name].array.__arrow_array__().to_pylist() for name in frame), strict=True)


def from_pyarrow(table):
    return table.column_names, zip(*(column.to_pylist() for column in table.columns), strict=True)


def from_polars(frame):
    return frame.columns, frame.rows()


def from_duckdb(relation):
    return relation.columns, relation.fetchall()


def pyarrow_arrow():
    return from_pyarrow(stream().read_all())


def pandas_arrow():
    return from_pandas(stream().read_pandas(types_mapper=pandas.ArrowDtype))


def polars_arrow():
    return from_polars(polars.read_ipc_stream(arrow))


def duckdb_arrow():
    reader = stream()
    return from_duckdb(duckdb.sql("SELECT * FROM reader"))


def pyarrow_parquet():
    return from_pyarrow(pyarrow.parquet.read_table(parquet))


def pandas_parquet():
    return from_pandas(pandas.read_parquet(parquet, dtype_backend="pyarrow"))


def polars_parquet():
    return from_polars(polars.read_parquet(parquet))


def duckdb_parquet():
    return from_duckdb(duckdb.read_parquet(parquet))


def typed(read, convert):
    header, rows = read
    return header, [[convert(kind, value) for kind, value in zip(types, row, strict=True)] for row in rows]


def csv_table():
    with open(csv, encoding="utf8", newline="") as file:
        text = dict.fromkeys(next(csv_fields.reader(file)), pyarrow.string())
    options = pyarrow.csv.ConvertOptions(
        column_types=text, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    return pyarrow.csv.read_csv(csv, convert_options=options, parse_options=parse)


def pyarrow_csv():
    return typed(from_pyarrow(csv_table()), from_text)


def pandas_csv():
    # `read_csv` of pandas cannot tell null from an empty text.
    return typed(from_pandas(csv_table().to_pandas(types_mapper=pandas.ArrowDtype)), from_text)


def polars_csv():
    return typed(from_polars(polars.read_csv(csv, infer_schema=False)), from_text)


def duckdb_csv():
    return typed(from_duckdb(duckdb.read_csv(csv, header=True, all_varchar=True, allow_quoted_nulls=False)), from_text)


def parsed():
    with open(lines, encoding="utf8", newline="\n") as file:
        return [json.loads(line, parse_float=decimal.Decimal) for line in file]


def pandas_lines():
    return typed((None, pandas.DataFrame(parsed(), columns=names, dtype=object).values.tolist()), from_json)


def polars_lines():
    # A column of a data frame has one type, and `"NaN"` is a string in JSON.
    # polars requires unique names, and JSON lines have none.
    kinds = [polars.Int64 if kind in ("INT", "LONG") else polars.String for kind in types]
    rows = [
        [json.dumps(value, default=str) if isinstance(value, list) else value if kind == polars.Int64 else spelling(value)
         for kind, value in zip(kinds, row, strict=True)]
        for row in parsed()
    ]
    schema = [(str(position), kind) for position, kind in enumerate(kinds)]
    rows = polars.DataFrame(rows, schema=schema, orient="row").rows()
    return typed((None, [[spelling(value) for value in row] for row in rows]), from_text)


def duckdb_lines():
    # The text of a line: DuckDB's functions of JSON read numbers with a fraction as DOUBLE.
    rows = duckdb.sql(f"SELECT json::VARCHAR FROM read_ndjson_objects('{lines}')").fetchall()
    return typed((None, [json.loads(line, parse_int=str, parse_float=str) for (line,) in rows]), from_json)


def compared(read):
    header, rows = read()
    rows = [list(row) for row in rows]
    wrong = [] if len(rows) == len(spelled) else [f"{len(rows)} rows, {len(spelled)} expected"]
    values = 0
    for number, (row, truth) in enumerate(zip(rows, spelled, strict=False)):
        for name, kind, value, raw in zip(names, types, row, truth, strict=True):
            values += 1
            if not same(value, expected(kind, raw)):
                wrong.append(f"row {number}, {name} ({kind}): {value!r}, the broker has {raw!r}")
    return {"names": header, "values": values, "wrong": wrong[:5]}


READERS = (
    pyarrow_arrow, pyarrow_parquet, pyarrow_csv,
    pandas_arrow, pandas_parquet, pandas_csv, pandas_lines,
    polars_arrow, polars_parquet, polars_csv, polars_lines,
    duckdb_arrow, duckdb_parquet, duckdb_csv, duckdb_lines,
)
print(json.dumps({read.__name__: compared(read) for read in READERS}))
