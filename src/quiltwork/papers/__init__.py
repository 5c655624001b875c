"""The papers' results, computed again."""
