"""The job of a reporting service. In a generated project it stands in `src/<package>/jobs`."""
