"""A Superset that connects to a gateway, lists tables and draws charts: `ask.py URI ALLOWED FORBIDDEN`. Prints JSON."""
import json, sys

from superset.app import create_app

uri, allowed, forbidden = sys.argv[1:]
app = create_app()
PASSWORD = "test-password"

with app.app_context():
    from flask_migrate import upgrade
    from superset import appbuilder, security_manager

    upgrade()
    appbuilder.add_permissions(update_perms=True)
    security_manager.sync_role_definitions()
    security_manager.add_user("admin", "a", "b", "a@example.com", security_manager.find_role("Admin"), password=PASSWORD)

client = app.test_client()


def call(method, path, body=None):
    answer = client.open(path, method=method, json=body, headers=headers)
    return answer.status_code, answer.get_json(silent=True) or answer.get_data(as_text=True)


headers = {}
login = {"username": "admin", "password": PASSWORD, "provider": "db"}
_, session = call("POST", "/api/v1/security/login", login)
headers = {"Authorization": f"Bearer {session['access_token']}"}

report = {}
status, database = call("POST", "/api/v1/database/", {"database_name": "pinot", "sqlalchemy_uri": uri, "expose_in_sqllab": True})
report["connect"] = [status, database if status != 201 else "created"]
identifier = database.get("id", 1)
_, schemas = call("GET", f"/api/v1/database/{identifier}/schemas/")
report["schemas"] = schemas.get("result", schemas)
_, tables = call("GET", f"/api/v1/database/{identifier}/tables/?q=(schema_name:default)")
report["tables"] = [table["value"] for table in tables["result"]] if "result" in tables else tables


def chart(table):
    """Counts the rows of a table by city with the API that charts use."""
    dataset = {"database": identifier, "schema": "default", "table_name": table}
    status, made = call("POST", "/api/v1/dataset/", dataset)
    if status != 201:
        return [status, made]
    metric = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "orders"}
    query = {"columns": ["city"], "metrics": [metric], "orderby": [[metric, False]], "row_limit": 1000}
    body = {"datasource": {"id": made["id"], "type": "table"}, "queries": [query], "result_format": "json", "result_type": "full"}
    status, data = call("POST", "/api/v1/chart/data", body)
    return [status, data["result"][0]["data"] if status == 200 else data]


report["chart"] = chart(allowed)
report["forbidden"] = chart(forbidden)
report["sql"] = call("POST", "/api/v1/sqllab/execute/", {"database_id": identifier, "sql": f"SELECT COUNT(*) FROM {forbidden}", "runAsync": False})
# Superset logs to stdout, too.
print("\n" + json.dumps(report))
