"""The jobs of a small product, one file per subject. In a generated project they stand in `src/<package>/jobs`."""
