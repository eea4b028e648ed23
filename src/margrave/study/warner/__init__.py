"""Randomised response as Warner proposed it in 1965, on the numbers that lectures show, with a curator beside it."""
