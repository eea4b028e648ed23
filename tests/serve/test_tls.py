"""Over TLS: cookies are secure, a client that does not know the certificate sends no token, and one that does asks."""

import datetime
import ssl

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from margrave.client.remote import connect
from margrave.errors import LedgerError
from tests.serve.served import PASSWORD, Served, fill

pytestmark = pytest.mark.slow


def certificate(folder):
    """A certificate of its own for localhost, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_a_server_with_a_certificate_is_asked_over_tls(tmp_path, monkeypatch):
    cert, key = certificate(tmp_path)
    url = str(tmp_path / "ledger.db")
    fill(url, tmp_path / "store")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    options = ("--host", "localhost", "--tls-cert", str(cert), "--tls-key", str(key), "--workers", "1")
    served = Served(url, tmp_path, *options)
    try:
        assert served.address.startswith("https://localhost:")
        token = served.person("ann", epsilon=1)
        trusted = ssl.create_default_context(cafile=str(cert))
        with connect(served.address, token, tls=trusted) as session:
            assert session.ask("people count").release(eps="0.1").cost.amount * 10 == 1
        login = {"name": "ann", "password": PASSWORD}
        reply = httpx.post(served.address + "/v1/login", json=login, verify=trusted)
        assert "Secure" in reply.headers["set-cookie"]
        with pytest.raises(httpx.HTTPError):
            httpx.get(served.address.replace("https", "http") + "/v1")
        monkeypatch.setattr("margrave.client.wire.sleep", lambda seconds: None)
        with pytest.raises(LedgerError, match="cannot be reached"):
            connect(served.address, token, tls=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    finally:
        served.stop()
