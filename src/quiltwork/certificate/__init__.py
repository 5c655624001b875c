"""Proofs of calibrations, and their check by interval arithmetic."""

from quiltwork.certificate.base import Certificate
from quiltwork.certificate.network import CliqueProof, NetworkCertificate
from quiltwork.certificate.proof import Bridges, ChainCertificate, SideProof

__all__ = ["Bridges", "Certificate", "ChainCertificate", "CliqueProof", "NetworkCertificate", "SideProof"]
