"""The service: a page and a JSON interface over the library. No mathematics here; it needs the extra ``web``."""
