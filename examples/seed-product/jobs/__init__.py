"""The jobs of a small product that sells credits, one file per subject. In a generated project they stand in
`src/<package>/jobs`. Read `accounts.py` first.
"""
