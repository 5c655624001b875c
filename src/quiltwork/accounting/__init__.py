"""What several releases tell together: one record of each, one total, one class for each theorem."""
