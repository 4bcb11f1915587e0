"""MiniStack's gaps, closed from outside: nothing in it is edited or copied, only its tables of handlers are wrapped.

`tests/local_aws/test_gaps.py` shows each gap on the plain MiniStack too, so that an upgrade tells when one is closed
and its file can go.
"""
