"""Where the rows are, and the little that is done differently there."""
