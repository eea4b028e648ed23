"""A spec of a join for tests."""

from margrave.planning.join.spec import JoinSpec

JOIN = """
title = "Travel and disease"

[join]
id = [{ kind = "digits" }]
deadline = 2099-01-31T12:00:00Z
publisher = "hospital"

[owners.hospital]
key = "1111111111111111111111111111111111111111111111111111111111111111"
columns = ["patient"]
at_most = 2000

[owners.airline]
key = "2222222222222222222222222222222222222222222222222222222222222222"
columns = ["passenger"]
at_most = 3000

[attributes.travelled]
owner = "airline"
values = ["no", "europe", "overseas"]

[attributes.disease]
owner = "hospital"
values = ["none", "malaria"]

[privacy]
epsilon = 0.5
delta = 1e-9
sizes = { epsilon = 0.1, delta = 1e-9 }
"""

HELPER = """
[helper]
name = "registry"
key = "5555555555555555555555555555555555555555555555555555555555555555"
box = "6666666666666666666666666666666666666666666666666666666666666666"
"""


def changed(*pairs, text=JOIN):
    """The text of the spec, with some places changed."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def helped():
    """The text of the spec with a helper."""
    box = 'box = "' + "7" * 64 + '"\n'
    text = changed(('columns = ["patient"]', box + 'columns = ["patient"]'))
    text = changed(('columns = ["passenger"]', box + 'columns = ["passenger"]'), text=text)
    return changed(("delta = 1e-9\nsizes = { epsilon = 0.1, delta = 1e-9 }\n", ""), text=text) + HELPER


def spec(*pairs):
    return JoinSpec.load(changed(*pairs))
