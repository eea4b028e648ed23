"""Signatures: who made a bundle, and that nothing in it was changed since."""

import json
import shutil
import stat

import pytest
from typer.testing import CliRunner

import margrave as mg
from margrave.cli.app import app
from margrave.errors import MargraveError, RefusedError, UsageError, VerificationError
from margrave.ledger.check import verify as verify_ledger
from margrave.planning.written import notion_of
from margrave.publish.bundle.bundle import bundle_files
from margrave.publish.charging import published_in
from margrave.publish.verification.signature import SIGNATURE, PublicKey, Signed, SigningKey
from margrave.publish.verification.verify import verify
from tests.shapes import domain_of, frame_of, spec_of

RFC_8032 = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(one) for one in arguments], **options)


@pytest.fixture(scope="module")
def out():
    return mg.release(spec_of((2, 2), ["ab"]), frame_of(domain_of(2, 2), [5, 0, 3, 2]), seed=1)


@pytest.fixture
def key(tmp_path):
    assert run("key", tmp_path / "me").exit_code == 0
    return tmp_path / "me.key"


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_signed_bundle_is_verified_by_the_key_of_its_signer(out, key, tmp_path, name):
    place = out.save(tmp_path / name, sign=SigningKey.load(key))
    public = PublicKey.load(key.with_suffix(".pub"))
    assert verify(place, key=public).signer == verify(place).signer == public
    assert mg.Release.load(place).plan.cost == out.plan.cost
    with pytest.raises(VerificationError, match="not by"):
        verify(place, key=SigningKey.new().public)


def test_an_unsigned_bundle_is_not_verified_by_a_key(out, tmp_path):
    place = out.save(tmp_path / "out")
    assert verify(place).signer is None
    with pytest.raises(VerificationError, match="not signed"):
        verify(place, key=SigningKey.new().public)


def forged(place, change):
    """A signed bundle whose account of itself was changed, its signature left as it was."""
    text = (place / "release.json").read_text(encoding="utf-8")
    (place / "release.json").write_text(change(text), encoding="utf-8")


def test_whatever_is_changed_in_a_signed_bundle_is_noticed(out, key, tmp_path):
    signer = SigningKey.load(key)
    whole = out.save(tmp_path / "whole", sign=signer)
    for file in sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file()):
        copy = tmp_path / "copy"
        shutil.copytree(whole, copy)
        content = bytearray((copy / file).read_bytes())
        content[len(content) // 2] ^= 1
        (copy / file).write_bytes(content)
        with pytest.raises(MargraveError):
            verify(copy, key=signer.public)
        shutil.rmtree(copy)


def test_checksums_that_were_made_to_fit_do_not_make_a_signature_fit(out, key, tmp_path):
    place = out.save(tmp_path / "out", sign=SigningKey.load(key))
    forged(place, lambda text: text + " ")
    for wanted in (None, SigningKey.load(key).public):
        with pytest.raises(VerificationError, match="does not fit"):
            verify(place, key=wanted)


def test_a_signature_made_for_something_else_is_none(out, key, tmp_path):
    signer = SigningKey.load(key)
    place = out.save(tmp_path / "out", sign=signer)
    manifest = (place / "release.json").read_bytes()
    bare = signer._secret.sign(manifest).hex()
    found = json.loads((place / SIGNATURE).read_text()) | {"signature": bare}
    (place / SIGNATURE).write_text(json.dumps(found))
    with pytest.raises(VerificationError, match="does not fit"):
        verify(place)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b"null", b'{"algorithm":"RSA","key":"","signature":""}', b"[" * 900, b"\xff",
     b'{"algorithm":"Ed25519","key":"00","signature":"00"}', b'{"algorithm":"Ed25519","key":1,"signature":2}'],
)  # fmt: skip
def test_what_is_no_signature_is_said_in_one_line(out, tmp_path, content):
    place = out.save(tmp_path / "out")
    (place / SIGNATURE).write_bytes(content)
    found = run("verify", place)
    assert found.exit_code != 0
    with pytest.raises(VerificationError, match="no signature"):
        verify(place)


def test_the_form_of_a_signature_is_pinned(tmp_path):
    """The first key of RFC 8032, section 7.1, signs the same bytes for ever."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    known = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(RFC_8032)))
    assert known.public.raw.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert known.public.fingerprint == "21fe:31df:a154:a261:626b:f854:046f:d227"
    signature = Signed.parse(known.sign(b"{}")).signature.hex()
    assert signature == PINNED


PINNED = (
    "05bcdc6ef65899e0932712b512957c612633fa5d6eaeb610c1494989a0d2dd69"
    "e05c3ee34ccb089aa7e9110fb2afa319911b3b9ca61cfb6b321412b1d907fd0e"
)


def test_a_key_is_a_secret(key, tmp_path):
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    body = key.read_text().splitlines()[1]
    loaded = SigningKey.load(key)
    assert body not in repr(loaded) and loaded._secret.private_bytes_raw().hex() not in repr(loaded)
    assert isinstance(run("key", tmp_path / "me").exception, UsageError)  # never written over
    assert key.read_text().splitlines()[1] == body


def test_a_key_with_a_passphrase_opens_with_it_alone(out, tmp_path):
    words = {"MARGRAVE_PASSPHRASE": "a long one"}
    assert run("key", tmp_path / "locked", "--passphrase", env=words).exit_code == 0
    place = tmp_path / "locked.key"
    assert SigningKey.load(place, "a long one").public == PublicKey.load(tmp_path / "locked.pub")
    for wrong in (None, "another"):
        with pytest.raises(UsageError, match="passphrase") as told:
            SigningKey.load(place, wrong)
        assert "another" not in str(told.value)
    for path in (tmp_path / "locked.pub", tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError):
            SigningKey.load(path)
    with pytest.raises(UsageError):
        PublicKey.load(place)


@pytest.mark.slow
def test_the_command_line_signs_and_verifies(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("examples", "fungus").exit_code == 0
    assert isinstance(run("release", "fungus.toml", "--sign", key).exception, UsageError)  # nothing to sign
    assert isinstance(run("release", "fungus.toml", "--sign", "no.key", "--out", "out").exception, UsageError)
    assert run("release", "fungus.toml", "--sign", key, "--out", "out").exit_code == 0
    found = run("verify", "out", "--key", "me.pub", "--json")
    assert json.loads(found.stdout)["signed_by"] == PublicKey.load("me.pub").fingerprint
    assert "see --key" in run("verify", "out").stdout


def test_a_ledger_holds_the_key_and_knows_bundles_signed_by_another(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = spec_of((2, 2), ["ab"])
    with mg.Ledger.create("ledger.db") as ledger:
        ledger.register("d@1", notion_of(spec), spec.budget)
        ledger.add_account("ann")
        ledger.grant("ann", "d@1", spec.budget)
    assert run("ledger", "key", "me.pub").exit_code == 0
    assert isinstance(run("ledger", "key", "me.pub").exception, RefusedError)
    with mg.Ledger.open("ledger.db") as ledger:
        made = mg.release(spec, frame_of(domain_of(2, 2), [5, 0, 3, 2]), ledger=ledger, account="ann")
        for place, signer in (("mine", SigningKey.load(key)), ("plain.zip", None), ("mine.zip", SigningKey.load(key))):
            made.save(place, sign=signer)
            assert verify_ledger(ledger, published_in(place)).published == 1
        made.save("theirs", sign=SigningKey.new())
        with pytest.raises(VerificationError, match="does not hold"):
            verify_ledger(ledger, published_in("theirs"))
    assert SigningKey.load(key).public.raw.hex() in run("ledger", "export", "d").stdout


def test_a_stored_bundle_is_signed_as_it_is(out, key, tmp_path):
    plain = dict(bundle_files(out, None))
    place = out.save(tmp_path / "out", sign=SigningKey.load(key))
    assert (place / "release.json").read_bytes() == plain["release.json"]
