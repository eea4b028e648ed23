"""Attacks, to see what breaks and what holds. On bundled, invented or declared data, never on confidential data
unasked.

    result         what an attack reached, in three columns, with the bound beside it
    terms          ε, repetitions, seed, and whose records
    subjects       records: bundled, generated, or the user's
    figures        pictures
    linkage        a register with names; `mondrian` makes k-anonymous classes to attack
    differencing   two counts and one person; asking again; collusion
    counts         reconstruction from random counts
    margins        reconstruction from margins with one sensitive attribute
    blocks         reconstruction from published tables, by a solver of whole numbers (solver)
    membership     is she in the case group
    averaging      public facts, forgotten
    composition    many questions, and clever ones, against three accountants
    curse          what k-anonymity leaves as attributes grow
    classical      eight classical protections, and what gets past each
    registry       all of them by name

Every attack takes its terms and returns one result.
"""
