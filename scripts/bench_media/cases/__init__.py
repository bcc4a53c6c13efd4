"""The cases. Each module has NAME, ABOUT, `arguments(parser)` and `run(stage, options, number)`.

`run` makes one run and returns {"rows": {side: figures}, "ratios": {title: number}}; a row with a non-empty list
`invalid` is shown but is no part of any median.
"""
from . import bypass, density, glass, latency, mix, priority, switch, webrtc

ALL = (bypass, mix, density, switch, latency, priority, webrtc, glass)

# What `scripts/bench.sh media` without a case runs.
EVERYTHING = (
    ["bypass"],
    ["bypass", "--rooms", "8"],
    ["bypass", "--rooms", "100", "--turns"],
    ["mix", "--people", "2"],
    ["mix", "--people", "4"],
    ["mix", "--people", "2", "--canvas", "1280x720@30"],
    ["mix", "--people", "4", "--canvas", "1280x720@30"],
    ["latency"],
    ["switch"],
    ["density"],
    ["webrtc"],
    ["glass"],
)
