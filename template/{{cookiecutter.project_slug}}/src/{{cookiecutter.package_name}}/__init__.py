"""Background jobs: a class per job in `jobs/`, the application in `app.py`, the Lambda entry in `lambda_function.py`."""
