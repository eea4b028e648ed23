"""What the server keeps beside the ledger, in the same store.

tables    its tables
people    who may come in: invitations, passwords, logins
tokens    what programs come in with
jobs      questions that wait, and what became of them
openings  data sets that are to be opened, and from which files
collections   local collections and their reports
holding   which server answers
access    who did what and when, without values
"""
