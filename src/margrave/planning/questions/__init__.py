"""Questions: a closed language about tables that share a unit, priced before any data is opened.

language/    the nodes of the language, their JSON, and the same as readable text
kinds        what a column may hold, with its range
data_spec    the public declaration of a data set for questions
programs     what questions become: programs on whole numbers
lowering     values and conditions become programs, with proven ranges
axes         what rows are grouped or parted by
public       public tables: how they are declared, and joins with them
rows         relations become programs, with how much one unit can have in them
sought       aggregates become what is sought of the rows, with the bounds that are enforced
price        how far one unit can move what is sought
mechanisms   the noise or selection that hides it, for a budget
trees        trees of counts over a grid, and what they say together
expectation  what to expect of an answer
least        the least budget for a wanted error
work         how much a question may take, by public numbers
missing      which columns of rows are never missing
question     an aggregate with its budget: all that is known before data is opened
partition    a partition at its price, and the purses of its parts
tables       tables of rows, planned as a release
every        every kind of question, made or read back
cube         tables of counts that are tables of one cube
sharing      which of several questions are measured, and which follow from others
batch        several questions under one charge
"""
