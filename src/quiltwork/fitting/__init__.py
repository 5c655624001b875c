"""Beliefs and public data: whether one fits the other."""
