"""Owners who join their tables without showing each other their data.

worker, curve   points of Curve25519, in bulk
batches         sets of points, one for each category, sorted and checked
protocol        the three steps of two owners, between values
messages        signed files; `sealing`: what is meant for one alone
folder, side    one side of a session: what it keeps, what it is charged for, in which order anything leaves
pair, helped    the steps of two owners, and of several with a helper; `steps`: either
result          the bundle at the end, the same on every side
replay          what an auditor does with one side's folder
post            messages over HTTPS
"""
