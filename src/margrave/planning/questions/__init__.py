"""Questions: a closed language about tables that share a unit, priced before any data is opened.

language/   the nodes of the language, their JSON, and the same as readable text
kinds       what a column may hold, with its range
public      public tables: how they are declared, and joins with them
data_spec   the public declaration of a data set for questions
programs/   what questions become: programs on whole numbers, with how much one unit can have in them
price/      how far one unit can move what is sought, the noise that hides it, and what to expect of an answer
question    an aggregate with its budget: all that is known before data is opened
several/    several asked as one: batches, partitions, tables
every       every kind of question, made or read back
least       the least budget for a wanted error
"""
