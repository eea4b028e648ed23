"""Local collections: the respondent's own side, which makes one report, and the collector, who adds reports up."""

STANDARD_INPUT = "-"
"""What stands for standard input where files of reports are named."""
