"""Certificates for tests: an authority, and one who holds a certificate of it."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

DAY = timedelta(days=1)


def named(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def built(name, issuer, public, signer, *extensions):
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        named(issuer), named(name), public, x509.random_serial_number(), now - DAY, now + DAY
    )
    for extension, critical in extensions:
        made = made.add_extension(extension, critical)
    return made.sign(signer, None)


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self):
        self.key = Ed25519PrivateKey.generate()
        public = self.key.public_key()
        identity = x509.SubjectKeyIdentifier.from_public_key(public)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        extensions = (x509.BasicConstraints(True, None), True), (usage, True), (identity, False)
        self.certificate = built("authority", "authority", public, self.key, *extensions)

    def folder(self, place, *, trusting=None):
        """A folder as `--tls` wants it."""
        place.mkdir()
        key = Ed25519PrivateKey.generate()
        hosts = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        certificate = built("owner", "authority", key.public_key(), self.key, (hosts, False), (issuer, False))
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (place / "certificate.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
        (place / "secret.pem").write_bytes(secret)
        trusted = (trusting or self).certificate
        (place / "authority.pem").write_bytes(trusted.public_bytes(Encoding.PEM))
        return place
