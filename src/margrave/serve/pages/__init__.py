"""Pages for people: the same operations as over HTTP, by forms and links that need no script.

visits      one look at a page, or one form that was sent; how pages are declared
frame       templates, style, headers
wanted      the form of the workbench, and the question that it asks
copies      a question as Python and as SQL
drawings    answers as tables with bars, and error against budget as a curve
entrance    the first page, data sets, coming in and going out
workbench   building, explaining and asking a question; history and answers
office      what curators see and do
collected   where respondents of a local collection report
explored    released tables for everybody
"""
