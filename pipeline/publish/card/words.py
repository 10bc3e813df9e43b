"""What each task asks, in a line for the tables of cards; the Markdown of the families is in ``templates``."""

from __future__ import annotations

from pipeline.tasks import TASKS

ASKS = {
    ("latent_list", "print"): "a slice of the list that a program leaves, as Python prints it",
    ("latent_list", "sum"): "the sum of a slice",
    ("latent_list", "min"): "the smallest value of a slice",
    ("latent_list", "max"): "the largest value of a slice",
    ("latent_list", "len"): "how long the list is",
    ("mrcr", "transcript"): "one reply of a long conversation again, word for word; the conversation as one string",
    ("mrcr", "chat"): "the same, with real turns in `messages`",
    ("idk", "letters"): "a detail of a story among random letters, told or not",
    ("idk", "stories"): "a detail of a story among other people's stories, told or not",
    ("bio", "standard"): "one attribute of one person",
    ("bio", "paraphrase"): "the same, biographies in 14 wordings",
    ("bio", "pronoun"): "the same, biographies in the first person",
    ("bio", "multi_standard"): "attributes of several people, in the order asked",
    ("bio", "calculation"): "the difference of two ages",
    ("bio", "rank"): "names by age",
    ("bio", "twodiff"): "two people whose ages differ by so much",
    ("bio", "multihop"): "a value told over several biographies, each of which names the next",
    ("bio", "citation"): "values, with the labels of the biographies that state them",
    ("bio", "idk"): "pairs of rows, with and without the sentence that answers",
    ("bio", "icl"): "a category whose rule only examples tell",
}
ESSAY = "-essay"


def asks(family: str, subtask: str) -> str:
    """Return what a task asks; of a task that has no line here, the first line of its own documentation."""
    plain = subtask.removesuffix(ESSAY)
    if (family, plain) in ASKS:
        return ASKS[family, plain] + (", in a haystack of prose" if plain != subtask else "")
    documented = (type(TASKS[family, subtask]).__doc__ or subtask) if (family, subtask) in TASKS else subtask
    return documented.splitlines()[0].rstrip(".")
