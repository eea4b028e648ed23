"""The ways of asking that are published, a small file for each, which registers itself when it is imported."""

from margrave.publish.release import Release as Release
from margrave.publish.ways import graph as graph
from margrave.publish.ways import local as local
from margrave.publish.ways import release as release
