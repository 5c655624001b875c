"""Proofs of calibrations, and their check by interval arithmetic."""

from quiltwork.certificate.proof import Certificate, SideProof

__all__ = ["Certificate", "SideProof"]
