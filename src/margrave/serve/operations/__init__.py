"""What can be done over HTTP.

shapes      what may be said, and how it is described
problems    errors as RFC 9457 has them
declared    how an operation is declared, and what it is given
public, asking, parting, collecting, curating   every operation, for whom
releases    what is released, and its tables
openapi     the description of all operations, for programs and for people
"""
