"""The ways of asking that a spec can declare, a small file for each, which registers itself when it is imported."""

from margrave.planning.ways import graph as graph
from margrave.planning.ways import join as join
from margrave.planning.ways import local as local
from margrave.planning.ways import question as question
from margrave.planning.ways import release as release
