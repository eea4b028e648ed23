"""CONFIDENTIAL: the only place that reads data. What leaves it is exact counts, for noise to be added at once."""
