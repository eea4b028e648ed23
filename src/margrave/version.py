"""The version of Margrave, apart from the package itself so that every layer may say it."""

__version__ = "0.2.0.dev0"
