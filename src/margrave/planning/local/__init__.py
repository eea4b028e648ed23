"""Plans of local collections: what each respondent reports, what protects her, and what the reports will tell."""
