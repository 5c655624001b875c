"""How much one value tells about others: pure functions of a belief."""
