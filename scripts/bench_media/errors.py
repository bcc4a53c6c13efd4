"""The error that ends a benchmark with a message for its caller."""


class BenchError(Exception):
    """The benchmark cannot go on; the text says what is missing or failed, and what to do."""


class Deadline(BenchError):
    """Something did not happen in time."""
