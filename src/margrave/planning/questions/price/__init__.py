"""What an answer costs, and how good it is for that.

price        how far one unit can move what is sought
trees        trees of counts over a grid, and what they say together
mechanisms   the noise or selection that hides one unit, for a budget
expectation  what to expect of an answer
"""
