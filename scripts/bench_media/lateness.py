"""Pictures on their way from a publisher to a player: which are the latest, and how evenly they arrive."""
from typing import NamedTuple

from .frames import quantile

# Time in ms behind the median from which a picture counts as late.
LATE = 10
# Largest difference in ms between a spacing at the player and the same one at the publisher that counts as undisturbed.
DISTURBED = 2
# The most pictures that are listed.
_ROWS = 30


class Arrival(NamedTuple):
    """A picture that a player has received. Both times are in s, of one clock."""
    number: int        # in the publisher's order, from 0
    place: int         # pictures since the last key picture; 0: it is one
    size: int          # bytes of the message
    sent: float
    arrived: float     # the same for all pictures of one read

    @property
    def delay(self):
        """Time from sending to receiving, in ms."""
        return (self.arrived - self.sent) * 1000


def delays(arrivals):
    """Returns p50, p99 and the maximum of the delays, in ms."""
    return _figures([arrival.delay for arrival in arrivals])


def slowest(arrivals, part=0.02):
    """Returns the pictures with the longest delays, longest first: `part` of all, but at least one."""
    return sorted(arrivals, key=lambda arrival: -arrival.delay)[:max(1, int(part * len(arrivals)))]


def spacings(arrivals):
    """Returns the distances of successive pictures at the player, and by how much each differs from the one at the publisher,
    in ms. Pictures whose predecessor is missing are left out."""
    known = {arrival.number: arrival for arrival in arrivals}
    pairs = [(known[arrival.number - 1], arrival) for arrival in arrivals if arrival.number - 1 in known]
    return ([(later.arrived - earlier.arrived) * 1000 for earlier, later in pairs],
            [abs(later.delay - earlier.delay) for earlier, later in pairs])


def slowest_table(arrivals):
    """Returns lines that say what the slowest pictures have in common: place in the group, size, neighbours."""
    known = {arrival.number: arrival for arrival in arrivals}
    late = delays(arrivals)[0] + LATE
    rows, chosen = [], slowest(arrivals)
    for arrival in chosen:
        previous, following = known.get(arrival.number - 1), known.get(arrival.number + 1)
        rows.append((arrival, previous is not None and previous.delay > late,
                     following is not None and following.arrived == arrival.arrived))
    sizes = sorted(arrival.size for arrival in chosen)
    lines = [
        f"  slowest {len(chosen)} of {len(arrivals)}: {sum(arrival.place == 0 for arrival in chosen)} key pictures, "
        f"{sum(arrival.place == 1 for arrival in chosen)} right after one; {sum(is_late for _, is_late, _ in rows)} after a "
        f"late picture (more than {LATE} ms behind the median); {sum(joined for _, _, joined in rows)} received together with "
        f"the next; {sizes[0]} to {sizes[-1]} bytes, median of all {quantile((a.size for a in arrivals), 0.5)}",
        "  picture  after key  bytes  delay, ms  previous late  with the next",
    ]
    lines += [f"  {arrival.number:7}  {arrival.place or 'key':>9}  {arrival.size:5}  {arrival.delay:9.2f}  "
              f"{'yes' if is_late else 'no':>13}  {'yes' if joined else 'no':>13}" for arrival, is_late, joined in rows[:_ROWS]]
    return lines


def spacing_table(rows):
    """Returns lines that compare the spacing of pictures in several situations.

    - Parameter rows: Pairs of a label and the pictures.
    """
    width = max(len(label) for label, _ in rows)
    lines = [f"{'spacing of pictures, ms':{width}}  {'at the player':>23}  {'difference from the publisher':>31}",
             f"{'':{width}}  {'p50':>7} {'p99':>7} {'max':>7}  {'p50':>7} {'p99':>7} {'max':>7}  more than {DISTURBED}"]
    for label, arrivals in rows:
        distances, differences = spacings(arrivals)
        if not distances:
            lines.append(f"{label:{width}}  too few pictures")
            continue
        numbers = "  ".join(" ".join(f"{value:7.2f}" for value in _figures(values)) for values in (distances, differences))
        lines.append(f"{label:{width}}  {numbers}  {sum(value > DISTURBED for value in differences)} of {len(differences)}")
    return lines


def _figures(values):
    values = list(values)
    return quantile(values, 0.5), quantile(values, 0.99), max(values)
