"""The text of variable tracking prompts."""

from __future__ import annotations

INTRODUCTION = """\
Below is {what}. The lines after "Program:" that begin with VAR form one program, which runs from top to bottom. \
{meaning} A variable that is given something again holds only what it was given last. You will be asked which \
variables hold a number at the end.
"""
WHAT = {
    "chains": "a long program that gives values to variables",
    "noise": "a text that says the same things again and again, with the lines of a program in between",
}
GIVEN = "VAR ABC = 5 gives the variable ABC the number 5"
COPIED = "VAR DEF = VAR ABC gives DEF what ABC holds at that moment"
ADDED = "VAR GHI = VAR ABC + 2 gives GHI two more than that"
TAKEN = "VAR JKL = VAR ABC - 2 gives JKL two less"
MEANING = {
    "none": f"{GIVEN}, and {COPIED}.",
    "add": f"{GIVEN}, {COPIED}, and {ADDED}.",
    "mixed": f"{GIVEN}, {COPIED}, {ADDED}, and {TAKEN}.",
}
"""What lines mean, by the operations that they may have."""
EXAMPLE = "Example:\n{lines}Question: {question}\nAnswer: {answer}\n"
QUESTION = "Which variables hold the number {number} at the end?"
START, END = "Program:\n", "This is the end of the program."
TAIL = f"{END} Reply with the names of the variables alone, separated by commas.\n\nQuestion: {{question}}\nAnswer:"
