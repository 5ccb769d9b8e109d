"""kvswap's operators for torch 2.10 and newer, in eager mode and in compiled graphs.

The import registers them::

    import kvswap.torch_ops

    torch.ops.kvswap.swap_blocks_batch(src_ptrs, dst_ptrs, sizes)
    torch.ops.kvswap.swap_blocks(src, dst, block_size_in_bytes, block_mapping)

Both submit copies on torch's current stream of the GPU at hand, and the copies may run
after the call has returned. Errors are ``RuntimeError``; the message says which copy is
at fault.

``swap_blocks_batch(Tensor src_ptrs, Tensor dst_ptrs, Tensor sizes, bool is_src_access_order_any=False) -> ()``
    ``sizes[i]`` bytes from the address ``src_ptrs[i]`` to the address ``dst_ptrs[i]``:
    three one-dimensional CPU tensors of int64. ``is_src_access_order_any=True`` lets the
    driver read sources at any time, perhaps ahead of earlier work of the stream, which is
    wrong for a source that such work still writes.

    In a compiled graph such calls stay, and stay in order among themselves. torch does not
    know which tensors the addresses lie in: it keeps no order between a call and the
    operators that write or read those, and keeps none of them alive.

``swap_blocks(Tensor src, Tensor(a!) dst, int block_size_in_bytes, Tensor block_mapping) -> ()``
    For each pair of ``block_mapping``, a CPU tensor of int64 of shape [n, 2], the block
    ``pair[0]`` of ``src`` to the block ``pair[1]`` of ``dst``. Block k of a tensor is its
    bytes from ``k * block_size_in_bytes`` on. One of the two tensors is on a GPU, the
    other one too, or on the CPU. The call waits for the copies where ``dst`` is CPU memory
    that is not pinned.

    torch knows what is read and written, and keeps the order in a compiled graph. A call
    does not keep ``src`` and ``dst`` alive until its copies have run.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

import kvswap

__all__ = ["library_path"]

_OPERATORS = ("swap_blocks_batch", "swap_blocks")
_OLDEST_TORCH = (2, 10)


def library_path() -> str:
    """The library with the operators, for programs in C++: load it once torch is.

    It needs ``libkvswap.so`` beside it.
    """
    return str(Path(kvswap.__file__).absolute().with_name("libkvswap_torch.so"))


def _registered() -> list[str]:
    return [name for name in _OPERATORS if hasattr(torch.ops.kvswap, name)]


def _load() -> None:
    """Has torch load the library, unless somebody did.

    Raises:
        ImportError: it cannot be loaded, or does not come to register its operators.
    """
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < _OLDEST_TORCH:
        raise ImportError(
            f"kvswap.torch_ops needs torch 2.10 or newer; this is {torch.__version__}. "
            "kvswap.swap_blocks_batch works with older ones"
        )
    path = library_path()
    # torch lists what it has loaded by the names without symbolic links.
    if os.path.realpath(path) in torch.ops.loaded_libraries:
        return
    if found := _registered():
        raise ImportError(
            f"torch has operators {', '.join('kvswap::' + name for name in found)} "
            f"already, not from {path}: a process can have one kvswap"
        )
    if not Path(path).exists():
        raise ImportError(
            f"there is no {path}: depend on //py/kvswap:torch_ops, which is built with "
            "the headers of torch (--//toolchains/python:torch_headers), or take a wheel"
        )
    try:
        torch.ops.load_library(path)
    except OSError as error:
        raise ImportError(
            f"torch {torch.__version__} does not load {path}: {error}"
        ) from error
    if missing := set(_OPERATORS) - set(_registered()):
        raise ImportError(
            f"torch {torch.__version__} loaded {path}, which did not come to register "
            f"{', '.join(sorted(missing))}; torch has logged why"
        )


def _nothing(*_arguments: object) -> None:
    """What a call returns, without making it: for tracing."""


def _declare() -> None:
    """Tells torch's tracers what schemas do not say."""
    from torch._higher_order_ops.effects import _register_effectful_op
    from torch._library.effects import EffectType
    from torch.fx.node import has_side_effect

    for name in _OPERATORS:
        torch.library.register_fake(f"kvswap::{name}")(_nothing)
        # Nothing that returns no tensor would be kept in a graph else.
        has_side_effect(getattr(torch.ops.kvswap, name).default)
    # Calls stay in order among themselves, as no tensor says that they have to. Not for
    # swap_blocks: torch knows what it writes, and takes one or the other.
    _register_effectful_op(
        torch.ops.kvswap.swap_blocks_batch.default, EffectType.ORDERED
    )


_load()
_declare()
