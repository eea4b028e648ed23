"""Strategies: which queries to ask, and how to share the budget among them. All are lists of shared queries.

A share is the part of the budget (of ε for Laplace noise, of ρ for Gaussian noise) that a query would cost if one
record were added or removed. Shares are relative: :mod:`margrave.planning.planner` scales them to the budget at hand.
Each strategy is a file, which registers itself when `every` imports it.
"""
