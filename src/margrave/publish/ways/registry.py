"""Every way of asking that is published. Whoever names this module has registered them all."""

from margrave.publish.way import bundle_way as bundle_way
from margrave.publish.way import load as load
from margrave.publish.way import report_of as report_of
from margrave.publish.way import way_in as way_in
