"""Programs that the benchmarks run in child processes, with only a Lambda function's packages on their path.

This folder is copied beside those packages, so that its modules import nothing of the repository.
"""
