"""A small graph with public degrees."""

SPEC = """
title = "Friends"
[data]
source = "friends.csv"
columns = ["one", "other"]
[graph]
nodes = { red = ["ann", "bob", "cid", "dan"], blue = ["eve", "fay", "gus, the 2nd", "hal"] }
degrees = ["ann", "bob", "cid", "dan", "eve"]
[privacy]
epsilon = 4
"""
EDGES = [("ann", "bob"), ("cid", "ann"), ("dan", "eve"), ("eve", "fay"), ("gus, the 2nd", "hal"), ("bob", "eve")]
