"""Questions on the confidential side: the private store, the engine that counts in it, the process it runs in.

compile   programs become SQL; no name and no text of an analyst is in it
recoding  columns become whole numbers of the declared kinds
opening   a data set is recoded once into a store
store     where it is, and by which declaration it was made
engine    exact numbers from a store, and the noisy ones that leave
worker    the process of its own that the engine runs in
asking    how the worker is started, asked and guarded
rehearsal questions about made-up rows, for audits
"""
