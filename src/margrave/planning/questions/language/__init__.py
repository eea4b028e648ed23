"""The language of questions: a closed tree of nodes, each checked at birth, with one canonical JSON.

form         what every node has
expressions  values and conditions
relations    rows: tables, conditions, joins, reductions
aggregates   what is asked of the rows
wording      a tree as readable text
hints        what to write instead of what cannot be read
tokens       words, numbers, texts and signs
text         readable text as a tree
sql          a part of SQL as a tree
"""
