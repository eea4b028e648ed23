"""Asking questions in Python: an analyst's session with a ledger.

expressions  columns, and what is computed and compared with them
builders     rows and questions, built step by step
batches      several questions, put together
explanation  what a question would cost and be worth
parts        partitions: what is set apart once, and the parts with their purses
public       public tables
common       what every session has, wherever the ledger is
session      an account's session: budget, data sets, answers
"""
