"""The command ``kvswap doctor``."""

from __future__ import annotations

import argparse

SUMMARY = "whether swaps work on this machine, how, and what to do if not"
DESCRIPTION = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""


def run(options: argparse.Namespace) -> int:
    """Looks, and reports."""
    return 0
