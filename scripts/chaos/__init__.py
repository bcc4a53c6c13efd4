"""Faults injected into a service on air, judged by what a viewer gets. `scripts/chaos.sh --help`"""
