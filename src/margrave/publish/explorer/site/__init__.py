"""The explorer as files: pages, what a browser computes tables from, and the scripts that do."""
