"""Asks Pinot through the gateway with pinotdb: DB-API and SQLAlchemy.

Arguments: the gateway's host and port, the access key and secret key of a service token, a table and one that is forbidden.
Prints one JSON object.
"""

import json
import sys

from pinotdb import connect
from sqlalchemy import create_engine, inspect, text

host, port, user, password, table, forbidden = sys.argv[1:]
report = {}


def attempt(name, action):
    try:
        report[name] = action()
    except Exception as error:  # Every failure of a client is what is looked at here.
        report[name] = {"error": type(error).__name__, "message": str(error)[:2000]}


def dbapi(sql):
    connection = connect(host=host, port=int(port), path="/query/sql", scheme="http", username=user, password=password)
    try:
        cursor = connection.cursor()
        cursor.execute(sql)
        return [list(row) for row in cursor]
    finally:
        connection.close()


engine = create_engine(
    f"pinot://{user}:{password}@{host}:{port}/query/sql?controller=http://{user}:{password}@{host}:{port}/"
)


def alchemy(sql):
    with engine.connect() as connection:
        return [list(row) for row in connection.execute(text(sql))]


attempt("count", lambda: dbapi(f"SELECT count(*) FROM {table}"))
attempt("forbidden", lambda: dbapi(f"SELECT count(*) FROM {forbidden}"))
attempt("alchemyCount", lambda: alchemy(f"SELECT count(*) AS c FROM {table}"))
attempt("alchemyForbidden", lambda: alchemy(f"SELECT count(*) AS c FROM {forbidden}"))
attempt("tables", lambda: inspect(engine).get_table_names())
attempt("columns", lambda: [column["name"] for column in inspect(engine).get_columns(table)])
attempt("forbiddenColumns", lambda: [column["name"] for column in inspect(engine).get_columns(forbidden)])
print(json.dumps(report))
