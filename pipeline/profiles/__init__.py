"""Tokenizers with their chat templates and true windows.

>>> profile = load_profile("llama3.1")
>>> profile.window(131072), profile.template_kind
(131072, 'exact')
"""

from pipeline.profiles.counters import Counter
from pipeline.profiles.loading import DEFAULT_PROFILES, base_profiles, load_profile, shipped_profiles
from pipeline.profiles.profile import OPEN, Profile, close_counters

__all__ = [
    "DEFAULT_PROFILES",
    "OPEN",
    "Counter",
    "Profile",
    "base_profiles",
    "close_counters",
    "load_profile",
    "shipped_profiles",
]
