"""Proofs of calibrations, and their check by interval arithmetic."""

from quiltwork.certificate.proof import Bridges, Certificate, SideProof

__all__ = ["Bridges", "Certificate", "SideProof"]
