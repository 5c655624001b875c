"""From data and a request to a noisy value: prepare, reserve, count, draw, record."""
