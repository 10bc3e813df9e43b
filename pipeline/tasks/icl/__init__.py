"""Many-shot in-context learning: labels that only examples explain (HELMET, section 2.1; Bertsch et al. 2024)."""

from pipeline.tasks.icl.task import Intents

NOTES = """\
Messages to a service, each with a label that stands for its intent, and one more message to be labelled. The 6 and 50
labels are of questions to a town's information desk (what is asked; that and the place it is about), the 68, 77 and 151
of requests about contracts and memberships (an act and a thing); the 151st stands for everything else. No single word
gives an intent away: every act is worded alike for all things, every thing for all acts, and many messages say what is
not wanted. Labels are integers assigned at random in eight ways, so only the examples show what they mean; labels are
equally frequent, examples come in rounds of one of each, and the last message is not among them.
"""

TASKS = (Intents(),)
