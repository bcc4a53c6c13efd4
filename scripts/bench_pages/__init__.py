"""What scripts/bench-pages.py measures."""
