"""Questions: a closed language about tables that share a unit, priced before any data is opened.

form         what every node of the language has: canonical JSON, read back strictly
kinds        what a column may hold, with its range
data_spec    the public declaration of a data set for questions
expressions  values and conditions
relations    rows: tables, conditions, joins, reductions
aggregates   what is asked of the rows
lowering     expressions become whole-number programs, with proven ranges
rows         relations become whole-number programs, with how much one unit can have in them
price        what one unit can change, and the noise that hides it
question     an aggregate with its budget: all that is known before data is opened
text         the same language as readable text
"""
