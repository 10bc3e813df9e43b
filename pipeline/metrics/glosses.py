"""Glosses: countries that a reply adds to a city or a university though the question does not ask for them."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from pipeline.metrics.text import phrase

COUNTRIES = frozenset(
    re.split(
        "; ",
        "Afghanistan; Albania; Algeria; Angola; Argentina; Armenia; Australia; Austria; Azerbaijan; Bangladesh; "
        "Belarus; Belgium; Benin; Bolivia; Bosnia and Herzegovina; Brazil; Bulgaria; Burkina Faso; Burundi; Cambodia; "
        "Cameroon; Canada; Central African Republic; Chile; China; Colombia; Croatia; Cuba; Czechia; Democratic "
        "Republic of the Congo; Denmark; Dominican Republic; Ecuador; Egypt; Eritrea; Estonia; Ethiopia; Finland; "
        "France; Gabon; Gambia; Georgia; Germany; Ghana; Greece; Guatemala; Guinea; Guinea-Bissau; Honduras; Hong "
        "Kong; Hungary; India; Indonesia; Iran; Iraq; Ireland; Israel; Italy; Ivory Coast; Jamaica; Japan; Jordan; "
        "Kazakhstan; Kenya; Kosovo; Kyrgyzstan; Laos; Latvia; Lebanon; Lesotho; Liberia; Libya; Lithuania; Macao; "
        "Madagascar; Malawi; Malaysia; Mali; Mauritania; Mexico; Moldova; Mongolia; Morocco; Mozambique; Myanmar; "
        "Namibia; Nepal; Netherlands; New Zealand; Nicaragua; Niger; Nigeria; North Korea; North Macedonia; Norway; "
        "Pakistan; Panama; Papua New Guinea; Peru; Philippines; Poland; Portugal; Puerto Rico; Qatar; Republic of the "
        "Congo; Romania; Russia; Rwanda; Saudi Arabia; Senegal; Serbia; Sierra Leone; Slovakia; Slovenia; Somalia; "
        "South Africa; South Korea; South Sudan; Spain; Sri Lanka; Sudan; Sweden; Syria; Taiwan; Tajikistan; "
        "Tanzania; Thailand; Tunisia; Turkey; Turkmenistan; Uganda; Ukraine; United Arab Emirates; United Kingdom; "
        "United States; Uruguay; Uzbekistan; Venezuela; Vietnam; Yemen; Zambia; Zimbabwe",
    )
)
"""The countries of the cities in the bio family."""
ALIASES = {"United States": ("USA", "US", "America"), "United Kingdom": ("UK",), "Czechia": ("Czech Republic",)}
PLACE = "city|town|capital|capital city|port|port city|village|municipality|place|university|college|school|institute"


def _any_of(countries: Collection[str]) -> str:
    """Return a pattern of the names of countries and their aliases."""
    return "|".join(re.escape(name) for each in sorted(countries) for name in (each, *ALIASES.get(each, ())))


NAMED_COUNTRY = re.compile(rf"\b(?:{_any_of(COUNTRIES)})\b", re.IGNORECASE)
INSTITUTION = re.compile("univers|college|institute|school|polytechnic|academy", re.IGNORECASE)


def unglossed(text: str, answers: Collection[str]) -> str:
    """Return a text without the countries beside an answer: "Tampere, a city in Finland" becomes "Tampere".

    If the answers name the country (`Tampere, Finland`), only that one is removed, so that a wrong one counts as
    another value. For a university, whose country the key does not give, any country is removed.
    """
    if not NAMED_COUNTRY.search(text):
        return text  # the usual case, which spares compiling a pattern for each answer
    for answer in sorted(answers, key=len, reverse=True):
        own = frozenset(each[len(answer) + 2 :] for each in answers if each.startswith(f"{answer}, ")) & COUNTRIES
        if own or (INSTITUTION.search(answer) and not any(answer.endswith(f", {each}") for each in COUNTRIES)):
            text = _pattern(answer, own or COUNTRIES).sub(r"\1", text)
    return text


@lru_cache(maxsize=1024)
def _pattern(answer: str, countries: frozenset[str]) -> re.Pattern[str]:
    kind = rf"(?:(?:which|that) is )?(?:(?:a|an|the) (?:\w+ )?(?:{PLACE}) )?(?:located |situated |based )?"
    country = rf"(?:the )?(?:{_any_of(countries)})(?![\w-]|(?-i: [A-Z]))"
    return re.compile(
        rf"({phrase(answer).pattern})(?:,? {kind}(?:in|of) {country}|, {country}| \({country}\))", re.IGNORECASE
    )
