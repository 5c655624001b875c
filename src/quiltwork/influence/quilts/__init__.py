"""Max-influence and Markov quilts, on chains and networks."""
