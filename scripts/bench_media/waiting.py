"""Waiting for something that another process does."""
import time

from .errors import Deadline


def wait_until(condition, what, seconds=20, pause=0.05):
    """Returns the first true result of `condition`.

    - Raises: `Deadline` with `what` if there is none in time.
    """
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise Deadline(f"{what} within {seconds:.0f} s")
        time.sleep(pause)
