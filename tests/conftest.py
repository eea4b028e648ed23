"""Settings for the whole suite: property tests are deterministic and have no clock."""

from hypothesis import settings

settings.register_profile("margrave", deadline=None, derandomize=True, max_examples=60, print_blob=False)
settings.load_profile("margrave")
