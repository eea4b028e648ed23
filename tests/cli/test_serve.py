"""``margrave serve``: what it refuses before it serves."""

from tests.cli.typed import run


def test_what_cannot_be_served_is_said_at_once(tmp_path):
    away = run("serve", "--ledger", str(tmp_path / "none.db"), "--port", "0")
    assert away.returncode == 1 and "there is no ledger" in away.stderr
    wide = run("serve", "--ledger", str(tmp_path / "none.db"), "--host", "0.0.0.0")
    assert wide.returncode == 3 and "--behind-proxy" in wide.stderr
    half = run("serve", "--ledger", str(tmp_path / "none.db"), "--tls-cert", "cert.pem")
    assert half.returncode == 2 and "--tls-key" in half.stderr
