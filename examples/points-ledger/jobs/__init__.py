"""The jobs of a loyalty programme. In a generated project they stand in `src/<package>/jobs`."""
