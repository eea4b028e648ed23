"""Small local specs that several tests share."""

from margrave.planning.local.spec import LocalSpec


def local_spec(*sizes, epsilon="1.0986122886681098", tables=None, size=20_000, **local):
    """A local spec over attributes a, b, c, … of the given sizes; all pairs unless tables such as "ab" are named."""
    attributes = {chr(97 + axis): {"values": [str(value) for value in range(k)]} for axis, k in enumerate(sizes)}
    release = {"all": min(2, len(sizes))} if tables is None else {"tables": [list(table) for table in tables]}
    return LocalSpec.load(
        {
            "attributes": attributes,
            "release": release,
            "privacy": {"epsilon": epsilon},
            "local": {"expected_size": size, **local},
        }
    )
