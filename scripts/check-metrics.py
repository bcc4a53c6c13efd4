"""Reads Prometheus' text format from standard input with Prometheus' own parser and complains about what it forgives.

Exit status 1 with one line for each complaint.
"""

import re
import sys

from prometheus_client.parser import text_string_to_metric_families

text = sys.stdin.read()
complaints = []
seen = set()
samples = set()
for family in text_string_to_metric_families(text):
    if family.name in seen:
        complaints.append(f"{family.name} appears twice")
    seen.add(family.name)
    if not family.documentation:
        complaints.append(f"{family.name} has no help text")
    if family.type == "unknown":
        complaints.append(f"{family.name} has no type")
    for sample in family.samples:
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in samples:
            complaints.append(f"{key} appears twice")
        samples.add(key)
        if family.type == "counter" and sample.value < 0:
            complaints.append(f"{sample.name} is below zero")
        for label, value in sample.labels.items():
            if "://" in value:
                complaints.append(f"{sample.name}: the label {label} holds a URL")
    if family.type == "histogram":
        by_labels = {}
        for sample in family.samples:
            labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            entry = by_labels.setdefault(labels, {"buckets": [], "count": None})
            if sample.name.endswith("_bucket"):
                entry["buckets"].append((float(sample.labels["le"]), sample.value))
            elif sample.name.endswith("_count"):
                entry["count"] = sample.value
        for labels, entry in by_labels.items():
            bounds = [bound for bound, _ in entry["buckets"]]
            counts = [count for _, count in entry["buckets"]]
            if bounds != sorted(bounds) or not bounds or bounds[-1] != float("inf"):
                complaints.append(f"{family.name} {labels}: buckets {bounds}")
            if counts != sorted(counts) or counts[-1] != entry["count"]:
                complaints.append(f"{family.name} {labels}: counts {counts}, total {entry['count']}")
for name in seen:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        complaints.append(f"{name} is not a conventional name")
if len(seen) < 5:
    complaints.append(f"only {len(seen)} metrics")
for complaint in complaints:
    print(f"metrics: {complaint}", file=sys.stderr)
print(f"metrics: {len(seen)} metrics, {len(samples)} samples, {len(complaints)} complaints")
sys.exit(1 if complaints else 0)
