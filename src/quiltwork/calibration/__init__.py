"""(query, belief, ε) → how much noise, and why. Sees no data."""
