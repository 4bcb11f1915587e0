"""The performance goals as ratios: ``python -m tests.benchmarks``."""
