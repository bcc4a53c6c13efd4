#!/usr/bin/env python3
"""At which size of a cluster its database is the limit, from measured costs (docs/scale.md).

    scripts/scale-model.py                                   a table of sizes up to 1,000 nodes and 1,000,000 rooms
    scripts/scale-model.py --nodes 50 --rooms 20000          one size, simulated
    scripts/scale-model.py --costs bench-out/costs.json      costs of another machine (StoreCostTests writes the file)
    scripts/scale-model.py --self-test

Nodes and the database's processors are simulated event by event: room events arrive at random and wait for their node's group,
leases are renewed, rosters, subscriptions and rooms without a node are looked for, and everything queues for the processors of
the primary. What the nodes themselves cost is not modelled: they share nothing but the database.
"""

import argparse
import heapq
import json
import math
import random
import sys
from collections import deque

# µs of the primary's processor time, and ms for commit_wait_ms. Assumed, of the order of what a current server takes: measure yours
# with StoreCostTests.
COSTS = {
    "event": 200.0,
    "commit": 150.0,
    "commit_wait_ms": 1.0,
    "claim": 300.0,
    "renewal": 300.0,
    "lease_row": 0.5,
    "holder": 60.0,
    "subscriptions": 50.0,
    "hint": 100.0,
    "roster": 60.0,
    "roster_row": 1.0,
    "look": 250.0,
    "look_row": 1.0,
}

# As in the service: RoomLooks, ClusterSettings, ClusterNode.run, PostgreSQLWriter.groupSize, ReadPool.size.
LOOK_ROWS_PER_SECOND = 200_000
LOOK_INTERVAL = 0.5
SUBSCRIPTIONS_INTERVAL = 2.0
GROUP_SIZE = 512
CONNECTIONS = 6
ROSTER_ROW_BYTES = 300

# What counts as too much: of the processors, of a client's wait, of the connections and of the network.
MOST_UTILISATION = 0.7
LONGEST_WAIT_MS = 60.0
SIZES = ((3, 3_000), (10, 10_000), (30, 30_000), (100, 100_000), (300, 300_000), (1000, 1_000_000))


class Cluster:
    """A size, and the rates at which its nodes ask the database."""

    def __init__(self, nodes, rooms, options, costs):
        self.nodes, self.rooms, self.options, self.costs = nodes, rooms, options, costs
        self.events = rooms * options.events_per_minute / 60
        # Each node has one group under way; what comes meanwhile waits for the next.
        per_node = self.events / nodes
        cycle = costs["commit_wait_ms"] / 1000 + (costs["commit"] + costs["event"]) / 1e6
        self.group = min(GROUP_SIZE, max(1.0, per_node * cycle))

    def demands(self):
        """Processor time per second of each kind of work, in cores."""
        costs, nodes = self.costs, self.nodes
        looks = 1 / LOOK_INTERVAL
        # Looks at all rooms, of rooms and tasks each, by all nodes together.
        whole = min(nodes * looks, LOOK_ROWS_PER_SECOND / (2 * self.rooms))
        renewals = 6 / self.options.lease
        return {
            "events": (self.events * costs["event"] + self.events / self.group * costs["commit"]) / 1e6,
            "forwarding": self.events * self.options.forwarded * costs["holder"] / 1e6,
            "renewals": nodes * renewals * (costs["renewal"] + self.rooms / nodes * costs["lease_row"]) / 1e6,
            "rosters": nodes * looks * (costs["roster"] + nodes * costs["roster_row"]) / 1e6,
            "looks": (nodes * looks * costs["look"] + whole * self.rooms * costs["look_row"]) / 1e6,
            "subscriptions": nodes / SUBSCRIPTIONS_INTERVAL * costs["subscriptions"] / 1e6,
        }

    def utilisation(self):
        return sum(self.demands().values()) / self.options.cores

    def roster_megabits(self):
        return self.nodes / LOOK_INTERVAL * self.nodes * ROSTER_ROW_BYTES * 8 / 1e6

    def faults(self):
        """What is beyond its limit, without simulation."""
        found = []
        if self.utilisation() > MOST_UTILISATION:
            found.append("processors")
        if self.nodes * CONNECTIONS > self.options.connections:
            found.append("connections")
        if self.roster_megabits() > self.options.megabits * MOST_UTILISATION:
            found.append("network")
        return found


class Simulation:
    """One primary with some processors, and what the nodes ask of it, event by event. Times are in seconds."""

    def __init__(self, cluster, seed):
        self.cluster, self.random = cluster, random.Random(seed)
        self.now, self.order, self.agenda = 0.0, 0, []
        self.free, self.queue, self.busy = cluster.options.cores, deque(), 0.0
        self.waiting = [[] for _ in range(cluster.nodes)]
        self.writes = [False] * cluster.nodes
        self.event_waits, self.renewal_waits, self.groups = [], [], 0

    def at(self, time, action, *arguments):
        self.order += 1
        heapq.heappush(self.agenda, (time, self.order, action, arguments))

    def ask(self, cost, done):
        """Queues for a processor for `cost` µs."""
        self.queue.append((cost / 1e6, done))
        self.serve()

    def serve(self):
        while self.free and self.queue:
            self.free -= 1
            duration, done = self.queue.popleft()
            self.busy += duration
            self.at(self.now + duration, self.served, done)

    def served(self, done):
        self.free += 1
        if done:
            done()
        self.serve()

    # Room events

    def arrive(self, node, interval):
        self.waiting[node].append(self.now)
        if self.random.random() < self.cluster.options.forwarded:
            self.ask(self.cluster.costs["holder"], None)
        self.write(node)
        self.at(self.now + self.random.expovariate(1 / interval), self.arrive, node, interval)

    def write(self, node):
        if self.writes[node] or not self.waiting[node]:
            return
        self.writes[node] = True
        group, self.waiting[node] = self.waiting[node][:GROUP_SIZE], self.waiting[node][GROUP_SIZE:]
        costs = self.cluster.costs
        wait = costs["commit_wait_ms"] / 1000

        def stored():
            self.groups += 1
            self.event_waits.extend(self.now - time for time in group)
            self.writes[node] = False
            self.write(node)

        # The disk's and the standby's confirmation takes no processor.
        self.ask(costs["commit"] + len(group) * costs["event"], lambda: self.at(self.now + wait, stored))

    # What nodes do again and again

    def chore(self, interval, cost, waits):
        if waits is None:
            self.ask(cost, None)
        else:
            start = self.now
            self.ask(cost, lambda: waits.append(self.now - start))
        self.at(self.now + interval, self.chore, interval, cost, waits)

    def run(self, seconds):
        cluster, costs = self.cluster, self.cluster.costs
        per_node = cluster.events / cluster.nodes
        whole = cluster.rooms * costs["look_row"]
        whole_interval = 1 / min(cluster.nodes / LOOK_INTERVAL, LOOK_ROWS_PER_SECOND / (2 * cluster.rooms))
        if whole:
            self.at(self.random.random() * whole_interval, self.chore, whole_interval, whole, None)
        for node in range(cluster.nodes):
            if per_node:
                self.at(self.random.expovariate(per_node), self.arrive, node, 1 / per_node)
            renewal = cluster.options.lease / 6
            for interval, cost, waits in (
                (renewal, costs["renewal"] + cluster.rooms / cluster.nodes * costs["lease_row"], self.renewal_waits),
                (LOOK_INTERVAL, costs["roster"] + cluster.nodes * costs["roster_row"], None),
                (LOOK_INTERVAL, costs["look"], None),
                (SUBSCRIPTIONS_INTERVAL, costs["subscriptions"], None),
            ):
                if cost:
                    self.at(self.random.random() * interval, self.chore, interval, cost, waits)
        while self.agenda and self.agenda[0][0] < seconds:
            self.now, _, action, arguments = heapq.heappop(self.agenda)
            action(*arguments)
        return self


def percentile(values, percent):
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(len(ordered) * percent / 100) - 1)]


def largest(options, costs, rooms_per_node):
    """The greatest number of nodes whose database is within its limits."""
    low, high = 0, 100_000
    while low < high:
        middle = (low + high + 1) // 2
        if Cluster(middle, max(1, middle * rooms_per_node), options, costs).faults():
            high = middle - 1
        else:
            low = middle
    return low


def simulated(cluster, options):
    """Waits in ms: p50 and p99 of events, p99 of renewals; None if the work never ends."""
    if cluster.utilisation() >= 0.97:
        return None
    run = Simulation(cluster, options.seed).run(options.seconds)
    return (percentile(run.event_waits, 50) * 1000, percentile(run.event_waits, 99) * 1000,
            percentile(run.renewal_waits, 99) * 1000, run.busy / options.seconds / options.cores)


def table(options, costs):
    kinds = list(Cluster(1, 1, options, costs).demands())
    print("| nodes | rooms | events/s | " + " | ".join(kinds) + " | processors | event p99 | beyond the limit |")
    print("|" + "---|" * (len(kinds) + 6))
    for nodes, rooms in options.sizes:
        cluster = Cluster(nodes, rooms, options, costs)
        demands = cluster.demands()
        waits = simulated(cluster, options)
        p99 = "never ends" if waits is None else f"{waits[1]:.1f} ms"
        faults = cluster.faults()
        if waits is None or waits[1] > LONGEST_WAIT_MS:
            faults = faults or ["processors"]
        print(f"| {nodes:,} | {rooms:,} | {cluster.events:,.0f} | "
              + " | ".join(f"{demand:.2f}" for demand in demands.values())
              + f" | {cluster.utilisation() * 100:,.0f} % | {p99} | {', '.join(faults) or '–'} |")


def advise(options, costs):
    nodes, rooms = options.sizes[-1]
    per_node = max(1, rooms // nodes)
    most = largest(options, costs, per_node)
    print(f"\n{most:,} nodes with {most * per_node:,} rooms are the most for one database "
          f"({options.cores} cores, {options.connections} connections, {per_node:,} rooms for each node)")
    if most == 0:
        print("one node with so many rooms is too much already")
    elif most < nodes:
        parts = math.ceil(nodes / most)
        print(f"{nodes:,} nodes with {rooms:,} rooms need {parts} clusters with a database each: divide the apps among them")


def self_test():
    """The simulation against what is known of queues, and against the sums."""
    options = arguments([])
    options.cores, options.seconds, options.forwarded = 1, 200, 0.0
    costs = dict.fromkeys(COSTS, 0.0) | {"event": 5000.0}
    # One processor, random arrivals, constant service, groups: busy for the sum of the work.
    cluster = Cluster(1, 6000, options, costs)
    run = Simulation(cluster, 1).run(options.seconds)
    assert abs(run.busy / options.seconds - cluster.utilisation()) < 0.03, run.busy
    assert abs(cluster.utilisation() - 0.5) < 1e-9
    # M/D/1 with single events, from nodes so many that no group has two: mean wait ρ/(2μ(1-ρ)) and the service itself.
    options.seconds = 100
    cluster = Cluster(2000, 6000, options, costs)
    run = Simulation(cluster, 2).run(options.seconds)
    mean = sum(run.event_waits) / len(run.event_waits)
    assert abs(mean - (0.005 + 0.5 * 0.005 / (2 * 0.5))) < 0.001, mean
    # Every kind of work is counted alike in both.
    options.cores, options.seconds, options.forwarded = 4, 60, 0.5
    cluster = Cluster(20, 20_000, options, COSTS)
    run = Simulation(cluster, 3).run(options.seconds)
    share = run.busy / options.seconds / options.cores
    assert abs(share - cluster.utilisation()) < 0.05 * max(share, 0.05), (share, cluster.utilisation())
    # More of anything never costs less.
    small, large = Cluster(10, 10_000, options, COSTS), Cluster(20, 20_000, options, COSTS)
    assert all(large.demands()[kind] >= small.demands()[kind] for kind in small.demands() if kind != "looks")
    print("scale-model: sound")


def arguments(given):
    parser = argparse.ArgumentParser(description="Estimates the size at which the database limits a cluster.")
    parser.add_argument("--costs", metavar="FILE", help="JSON file of StoreCostTests; default: assumed costs")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--rooms", type=int)
    parser.add_argument("--cores", type=int, default=8, help="cores of the primary (8)")
    parser.add_argument("--connections", type=int, default=600, help="maximum connections of the primary (600)")
    parser.add_argument("--megabits", type=float, default=10_000, help="network bandwidth of the primary in Mbit/s (10000)")
    parser.add_argument("--events-per-minute", type=float, default=1.0, help="events per minute of each room (1)")
    parser.add_argument("--forwarded", type=float, default=0.5, help="share of the events that arrive at another node first (0.5)")
    parser.add_argument("--lease", type=float, default=30.0, help="node.leaseSeconds (30)")
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated time (10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args(given)
    if (options.nodes is None) != (options.rooms is None):
        parser.error("--nodes and --rooms belong together")
    for name in ("nodes", "rooms", "cores", "connections", "megabits", "events_per_minute", "lease", "seconds"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            parser.error(f"--{name.replace('_', '-')} must be more than 0")
    options.sizes = SIZES if options.nodes is None else ((options.nodes, options.rooms),)
    return options


def main():
    options = arguments(sys.argv[1:])
    if options.self_test:
        return self_test()
    costs = dict(COSTS)
    if options.costs:
        with open(options.costs, encoding="utf-8") as file:
            costs.update(json.load(file))
        unknown = set(costs) - set(COSTS)
        if unknown:
            sys.exit(f"scale-model: {options.costs}: unknown costs {', '.join(sorted(unknown))}")
    table(options, costs)
    advise(options, costs)
    return None


if __name__ == "__main__":
    sys.exit(main())
