"""How the time of a switch is divided, by the stages that the relay records with it (`stages` of a task's switches)."""
from itertools import accumulate

from .frames import quantile

# The parts of a join, in order, by what ends each of them.
PARTS = (
    "plan at the relay",             # request, decision, commit, command
    "mixer told to run",             # the relay's own decision
    "last first keyframe",           # connection to the guest, and its keyframe
    "mixer's first picture",         # process, codecs, decoding up to the present, composing, encoding
    "host's pictures held",          # next boundary of the bypass
    "mixer's keyframe on air",       # decoding, composing and encoding of that picture
    "picture at the viewer",         # server and reader, and the request before the service has read it
)


def ends(switch, viewer):
    """Returns the time from the event at which each part of a switch has ended, in ms, in the order of `PARTS`.

    A stage that was passed before the event or before an earlier stage takes no time, so the times never decrease.

    - Parameters:
        switch: A switch as the API shows it.
        viewer: Time from the event to the first picture at a viewer, in ms.
    """
    stages, on_air, after = switch["stages"], switch["latencyMs"], switch.get("afterKeyframeMs")
    keyframe = 0 if after is None else on_air - after
    times = [stages.get("planMs", 0), stages.get("mixerMs", 0), keyframe, stages.get("pictureMs", 0),
             stages.get("heldMs", 0), on_air, viewer]
    return list(accumulate(times, max))


def divided(switch, viewer):
    """Returns the length of each part of a switch, in ms, in the order of `PARTS`. Their sum is `viewer`."""
    times = ends(switch, viewer)
    return [end - begin for begin, end in zip([0, *times], times)]


def table(switches):
    """Returns the lines of a table of the parts of these switches, as `divided` gives them; none without switches.

    Quantiles of parts do not add up to the quantile of the whole: what one switch waits for longer, another waits for less.
    """
    if not switches:
        return []
    columns = [*zip(*switches)]
    through = [*zip(*(accumulate(parts) for parts in switches))]
    lines = [f"{'ms until':26} {'p50':>7} {'p95':>7} {'since the event: p50':>22} {'p95':>7}"]
    for name, part, whole in zip(PARTS, columns, through):
        lines.append(f"{name:26} {quantile(part, 0.5):7.1f} {quantile(part, 0.95):7.1f} {quantile(whole, 0.5):22.1f} "
                     f"{quantile(whole, 0.95):7.1f}")
    return lines
