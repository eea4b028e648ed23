"""What questions become: programs on whole numbers, whose ranges and bounds are proven as they are made.

programs    the programs
lowering    values and conditions become programs, with proven ranges
axes        what rows are grouped or parted by
rows        relations become programs, with how much one unit can have in them
missing     which columns of rows are never missing
sought      aggregates become what is sought of the rows, with the bounds that are enforced
work        how much a question may take, by public numbers
"""
