"""``python -m tests.runtime.model SEED STEPS``: look longer than a test run does."""

import sys

from .search import search

done, finding = search(sys.argv[1], int(sys.argv[2]))
print(finding or f"{done.steps} steps in {done.episodes} episodes, nothing found")
print(dict(done.seen.most_common()))
sys.exit(finding is not None)
