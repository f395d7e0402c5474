"""Readers of what only whole lines tell, one file a format; found by file name.

A module has OPENERS (fixed texts that begin such lines, as bytes) and a class Reader with `line(text, at, seen)`, which
is called for each line of a small text, and for the lines after an opener of a large one.

A pattern is compiled when it is first needed (seen.compiled), which takes longer than to read a small text: look for a
word or a sign first, without which it cannot match.
"""
