"""The analyst's side of a server: the same session, with the ledger and the data behind a wall.

wire     requests, retried with the same key, and problems as errors
remote   a session over the wire
"""
