# Configuration of the Superset of the test: its folder is the working directory.
import os

SECRET_KEY = "only-for-tests-of-this-machine-0123456789"
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.getcwd()}/superset.db"
# The test calls the REST API without a browser, at http://127.0.0.1.
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
