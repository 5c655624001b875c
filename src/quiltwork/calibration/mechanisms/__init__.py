"""One function for each mechanism, all of one form: (query, belief, ε, length) → a calibration."""
