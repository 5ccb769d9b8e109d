"""The version of kvswap, for build rules: tools/set_version.py changes it everywhere."""

VERSION = "0.1.0"
