"""The ways of asking that are published: a small file for each, which is imported when its way is first needed."""

from margrave.publish.way import BundleWay, register


def _graph() -> BundleWay:
    from margrave.publish.ways.graph import WAY

    return WAY


def _local() -> BundleWay:
    from margrave.publish.ways.local import WAY

    return WAY


def _release() -> BundleWay:
    from margrave.publish.ways.release import WAY

    return WAY


register("graph", _graph)
register("local", _local)
register("release", _release)
