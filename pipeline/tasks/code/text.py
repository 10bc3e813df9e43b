"""The text around files and commits in prompts of `code`. All wording is Carrara's own."""

from __future__ import annotations

INTRODUCTION = """\
Below are files of several Python packages, in no particular order. Each file begins with a line that gives its path \
between "==>" and "<==". A question about the code follows at the end.
"""
START = "Files:\n"
TAIL = """\
This is the end of the files. {reply}

Question: {question}
Answer:"""
LOG_INTRODUCTION = """\
Below is the log of a repository with its changes, the oldest commit first: the hash of each commit, its author, its \
message, and what it changed. A question about the log follows at the end.

A commit that reverts another one takes back what that one changed, so that a value is again what it was before. A \
commit that reapplies another one takes back its revert, so that the change of that one stands again. The commit that \
gave a constant its value is the one that changed the constant to that value and whose change stands: not a revert \
after which that change stands again, and not a commit that reapplies it.
"""
LOG_START = "Commits:\n"
LOG_TAIL = """\
This is the end of the log. {reply}

Question: {question}
Answer:"""
NAME = "Reply with the name of the function alone."
NUMBER = "Work it out step by step if you like, and end with the number."
NAMES = "Reply with the names of the functions alone, with commas between them."
COMMIT = "Reply with the hash of the commit alone, ten digits and letters."
FOUND = "Which function takes a list of whole numbers and does this: it {steps}?"
VALUE = "What does {module}.{function}({number}) return?"
CALLED = "Which functions call {module}.{function}, by whatever name it is imported? A call of another function with \
the same name does not count."
REACHED = "Which functions call {module}.{function}, by whatever name it is imported, or call a function that calls \
it? A call of another function with the same name does not count."
CHANGED = "Which commit gave {constant} in {path} the value that it has at the end of the log?"
