"""Counting on Apache Spark: the same tables as on one machine, to the last record.

Workers of the cluster recode and count with the same code, and hand on counts of chunks of tables, which other workers
add up. What comes back are the sums, and how many records broke which rule.
"""
