"""Released tables for everybody, in a browser: views of releases as values, their numbers, and pages of them."""
