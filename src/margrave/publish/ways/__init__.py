"""The ways of asking that are published, a small file for each, which registers itself when it is imported.

Whoever wants bundles of all ways recognised asks here, and not `margrave.publish.way`, which knows those alone that
were imported.
"""

from margrave.publish.release import Release as Release
from margrave.publish.way import bundle_way as bundle_way
from margrave.publish.way import load as load
from margrave.publish.way import report_of as report_of
from margrave.publish.way import way_in as way_in
from margrave.publish.ways import graph as graph
from margrave.publish.ways import release as release
