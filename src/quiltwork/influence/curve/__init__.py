"""The influence curve: from a profile to a guarantee, step by step along a chain or a tree."""
