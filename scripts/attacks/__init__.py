"""The attacks of scripts/attack.py, and the service that they attack."""
