"""Several asked as one.

partition   a partition at its price, and the purses of its parts
tables      tables of rows, planned as a release
cube        tables of counts that are tables of one cube
sharing     which of several questions are measured, and which follow from others
batch       several questions under one charge
"""
