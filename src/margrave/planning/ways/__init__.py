"""The ways of asking that a spec can declare: a small file for each, which is imported when its way is first needed."""

from margrave.planning.ways.registry import SpecWay, register


def _graph() -> SpecWay:
    from margrave.planning.ways.graph import WAY

    return WAY


def _join() -> SpecWay:
    from margrave.planning.ways.join import WAY

    return WAY


def _local() -> SpecWay:
    from margrave.planning.ways.local import WAY

    return WAY


def _question() -> SpecWay:
    from margrave.planning.ways.question import WAY

    return WAY


def _release() -> SpecWay:
    from margrave.planning.ways.release import WAY

    return WAY


register("graph", "graph", _graph)
register("join", "join", _join)
register("local", "local", _local)
register("question", "tables", _question)
register("release", "", _release)
