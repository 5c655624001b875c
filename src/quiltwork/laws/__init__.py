"""Exact laws of answers given each secret, for the auditor and the Wasserstein Mechanism."""
