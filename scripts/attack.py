"""Attacks a service that it starts on loopback, and prints the expected and the observed result of each attack.

Started by scripts/attack.sh. Uses Python's standard library alone. Every connection goes to 127.0.0.1; addresses elsewhere are
only named in requests that have to be refused before anything is connected to.
"""

import argparse
import os
import random
import signal
import sys

from attacks.requests import (
    archives, combining_marks, crafted_times, one_request, paging, rooms_without_bound, two_spellings, unsigned_callers,
)
from attacks.state import (
    broken_store, feeds, flood_of_viewers, killed_under_load, loopback_of_tenants, low, many_rooms_and_relays, odd_http,
    removed_data, waiting_tasks,
)

ATTACKS = {
    "1 two spellings of one name": two_spellings,
    "2 names that begin with a combining mark": combining_marks,
    "3 crafted audio times": crafted_times,
    "4 one costly request": one_request,
    "5 HLS archives": archives,
    "6 unbounded rooms": rooms_without_bound,
    "7 200 unsigned callers": unsigned_callers,
    "8 paging of the app default": paging,
    "9 tasks that wait": waiting_tasks,
    "10 all feeds for one tenant": feeds,
    "11 data directory removed": removed_data,
    "12 loopback, address tricks": loopback_of_tenants,
    "odd HTTP": odd_http,
    "odd values": low,
    "killed under load": killed_under_load,
    "broken stores": broken_store,
    "many rooms, real relays": many_rooms_and_relays,
    "flood of viewers": flood_of_viewers,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("service", help="path of mixorchestrator, with mixworker beside it")
    parser.add_argument("--only", default="", help="run only attacks whose name contains this text")
    parser.add_argument("--rooms", type=int, default=20_000, help="number of rooms that one tenant creates (20000)")
    parser.add_argument("--tasks", type=int, default=500, help="number of tasks that wait for capacity (500)")
    parser.add_argument("--kills", type=int, default=10, help="number of times the service is killed (10)")
    parser.add_argument("--stores", type=int, default=30, help="number of corrupted stores (30)")
    parser.add_argument("--relays", type=int, default=3, help="number of rooms with a relay (3)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="seed of the random choices")
    options = parser.parse_args()
    # A debug build is not what limits are for.
    options.slowness = 20.0 if "/debug/" in os.path.realpath(options.service) else 1.0
    random.seed(options.seed)
    # What was started is ended, whatever ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"seed {options.seed}" + (f", debug build: time limits ×{options.slowness:.0f}" if options.slowness > 1 else ""))
    rows, failed = [("attack", "expected", "seen", "")], 0
    for name, attack in ATTACKS.items():
        if options.only not in name:
            continue
        print(f"… {name}", file=sys.stderr, flush=True)
        try:
            expected, seen, held = attack(options)
        except Exception as error:  # One that cannot be carried out has not been withstood.
            expected, seen, held = "", f"{type(error).__name__}: {str(error)[:300]}", False
        failed += not held
        rows.append((name, expected, seen, "held" if held else "FAILED"))
    for row in rows:
        print("| " + " | ".join(row) + " |")
        if row is rows[0]:
            print("|---|---|---|---|")
    sys.exit(1 if failed or len(rows) == 1 else 0)


if __name__ == "__main__":
    main()
