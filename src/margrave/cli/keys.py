"""``margrave key``: the keys that releases are signed with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from margrave.cli.terminal import notice, say

if TYPE_CHECKING:
    from margrave.publish.verification.signature import SigningKey

PASSPHRASE = "MARGRAVE_PASSPHRASE"
"""The environment variable that has the passphrase of a key where nobody can be asked for it."""


def key(
    name: Annotated[Path, typer.Argument(help="Writes NAME.key, a secret, and NAME.pub.", show_default=False)],
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Lock the secret with a passphrase.")] = False,
) -> None:
    """Make a key to sign releases with. Give NAME.pub to everybody, and NAME.key to nobody."""
    from margrave.files.writing import check_target, write_file
    from margrave.publish.verification.signature import SigningKey

    secret, public = name.with_name(f"{name.name}.key"), name.with_name(f"{name.name}.pub")
    for path in (secret, public):
        check_target(path)
    words = _passphrase("Passphrase", new=True) if passphrase else None
    made = SigningKey.new()
    made.save(secret, words)
    write_file(public, made.public.pem())
    say(f"The key {made.public.fingerprint} is ready.")
    notice(f"{secret} is a secret: who has it can sign in your name. {public} is for everybody.")


def load_key(path: Path) -> SigningKey:
    """The key in a file; its passphrase, if it has one, comes from the environment or from the person."""
    from margrave.publish.verification.signature import SigningKey, is_locked

    return SigningKey.load(path, _passphrase(f"Passphrase of {path}") if is_locked(path) else None)


def _passphrase(question: str, *, new: bool = False) -> str:
    from margrave.errors import UsageError

    words = os.environ.get(PASSPHRASE)
    try:
        words = words or typer.prompt(question, hide_input=True, confirmation_prompt=new)
    except typer.Abort:
        raise UsageError(f"the key has a passphrase: type it, or set {PASSPHRASE}") from None
    return str(words)
