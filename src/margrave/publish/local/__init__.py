"""What is published of a local collection: a value, its bundle, and its report."""
