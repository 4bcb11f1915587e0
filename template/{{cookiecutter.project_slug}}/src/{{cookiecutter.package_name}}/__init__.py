"""Background jobs: the jobs in `jobs/`, the application in `app.py`, and beside it what runs them."""
