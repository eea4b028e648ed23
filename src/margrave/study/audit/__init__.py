"""Margrave audits itself: stated prices beside recomputed ones, and beside what sampling shows. Opens no data.

    findings     what was checked and what was found
    bounds       a lower bound on the privacy loss from samples, with its confidence
    neighbours   data sets one step apart, and what the step costs, by enumeration
    mechanism    something that can be sampled on two neighbours
    bugs         known bugs as mechanisms, each of which the auditor must find
    exact        exact probabilities, and exact tests of the samplers
    releases     the audit of a spec: price, then releases end to end
    graphs       the audit of a graph
    collections  the audit of a local collection
    joins        the audit of a join: its noise, and whole sessions
    questions    the audit of a data set for questions, with units that are made up
    files        bundles and ledgers, by what verifies them
    registry     what can be audited, and how each kind is recognised

No audit opens confidential data.
"""
