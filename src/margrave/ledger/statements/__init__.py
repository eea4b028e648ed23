"""What a ledger says of itself to people: nothing here is written to it.

allowance   what an account may still spend
shown       which entries an account may be shown
words       entries in sentences
statement   the public statement of all that was charged
registry    the same as registries of deployments ask for it
"""
