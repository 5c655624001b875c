"""Beliefs from public data."""
