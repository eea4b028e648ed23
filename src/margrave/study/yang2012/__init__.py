"""The study of Yang, Fienberg and Rinaldo (2012) again, on their four tables, with the answer to it beside it.

X. Yang, S. E. Fienberg, A. Rinaldo: Differential Privacy for Protecting Multi-dimensional Contingency Table Data:
Extensions and Applications. Journal of Privacy and Confidentiality 4 (1), 2012. "The paper" here means this one.

    grid         tables, the six algorithms, and blocks of runs
    subjects     the four tables with their models, and what is measured of them
    mwem         multiplicative weights with the exponential mechanism
    runs         one release, measured against the truth
    journal      results on disk, so that a killed study goes on
    reproduce    all runs, on all cores; then figures and page
    summary      means, deviations, ratios, and from which ε on a table is usable
    printed      every printed number beside the recomputed one
    figures      the plots
    page         one page with all of it
"""
