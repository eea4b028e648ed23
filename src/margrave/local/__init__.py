"""Local collections: the respondent's own side, which makes one report, and the collector, who adds reports up."""
