"""Background jobs: the jobs in `jobs/`, the application in `app.py`, what Lambda calls in `lambda_function.py`."""
