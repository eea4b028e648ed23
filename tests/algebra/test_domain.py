import pytest

from margrave.algebra.domain import Attribute, Domain
from margrave.errors import UsageError

DOMAIN = Domain((Attribute("age", ("young", "old")), Attribute("smoke", ("no", "yes", "?")), Attribute("one", ("1",))))


def test_margins_follow_the_order_of_the_domain():
    assert DOMAIN.margin(["smoke", "age", "smoke"]) == ("age", "smoke")
    assert DOMAIN.margin([]) == ()


def test_shapes_and_cells():
    assert DOMAIN.shape() == (2, 3, 1)
    assert DOMAIN.shape(("smoke",)) == (3,)
    assert DOMAIN.cells() == 6
    assert DOMAIN.cells(()) == 1
    huge = Domain(tuple(Attribute(f"a{i}", tuple("0123456789")) for i in range(100)))
    assert huge.cells() == 10**100


def test_restrict_keeps_order():
    assert DOMAIN.restrict(("smoke", "one")).names == ("smoke", "one")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Attribute("", ("a",)), "needs a name"),
        (lambda: Attribute("a", ()), "at least one value"),
        (lambda: Attribute("a", ("x", "x")), "twice"),
        (lambda: Domain((Attribute("a", ("x",)), Attribute("a", ("y",)))), "same name"),
        (lambda: DOMAIN["smok"], "did you mean 'smoke'"),
        (lambda: DOMAIN["age"].code("yung"), "did you mean 'young'"),
    ],
)
def test_what_is_refused(build, message):
    with pytest.raises(UsageError, match=message):
        build()
