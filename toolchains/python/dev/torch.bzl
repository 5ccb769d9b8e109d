"""Tests that need torch.

Loading this file makes the development Python: load it where such tests are alone.
"""

load("@kvswap_python_dev//:settings.bzl", "HAS_TORCH")

# For `target_compatible_with`: skipped where the development Python was made without
# torch (--config=without_torch).
NEEDS_TORCH = [] if HAS_TORCH else [Label("@platforms//:incompatible")]
