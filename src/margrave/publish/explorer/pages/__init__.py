"""Pages of the explorer: functions from a release and a view to HTML, by templates that escape every text."""
