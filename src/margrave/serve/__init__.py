"""The server: a wall between confidential data and those who ask about it, with one door in it.

kept/        what the server keeps beside the ledger: people, tokens, jobs, who came and when
operations/  every operation, declared once: what it takes and gives, for whom; problems, the OpenAPI document
app          one HTTP worker: every operation behind the same checks
watching     waiting for what becomes of jobs, together
answering    the process that has jobs answered, one at a time for each data set
supervisor   the processes together
demo         a server with everything set up
"""
