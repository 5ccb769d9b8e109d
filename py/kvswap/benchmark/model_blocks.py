"""From a model to blocks: how large they are on a GPU, and how many a request has."""

from __future__ import annotations

from dataclasses import dataclass

from kvswap.benchmark.models import DTYPE_BYTES, LAYERS, ONE, SPLIT, Model


@dataclass(frozen=True)
class ModelBlocks:
    """The blocks of a model's cache on one GPU, and a request of it.

    Attributes:
        model: whose.
        tensor_parallel: GPUs that the heads are shared among.
        block_tokens: tokens of a block.
        dtype: of the cache: one of DTYPE_BYTES.
        layout: one of LAYOUTS.
        tokens: of the request whose cache moves.
    """

    model: Model
    tensor_parallel: int = 1
    block_tokens: int = 16
    dtype: str = "bf16"
    layout: str = LAYERS
    tokens: int = 4096

    def __post_init__(self) -> None:
        heads, parts = self.model.kv_heads, self.tensor_parallel
        if heads and heads % parts and parts % heads:
            raise ValueError(
                f"{self.model.name} has {heads} KV heads, which {parts} GPUs cannot share "
                f"evenly: take a --tensor-parallel that divides {heads}, or a multiple "
                "of it"
            )

    @property
    def heads_per_gpu(self) -> int:
        """KV heads of a GPU: with more GPUs than heads they are replicated."""
        return max(1, self.model.kv_heads // self.tensor_parallel)

    @property
    def layer_token_bytes(self) -> int:
        """Bytes of a token in one layer, on one GPU.

        What is latent is of all heads together, so every GPU has all of it.
        """
        model = self.model
        numbers = model.latent_dim or 2 * self.heads_per_gpu * model.head_dim
        return numbers * DTYPE_BYTES[self.dtype]

    @property
    def token_bytes(self) -> int:
        """Bytes of a token in all layers, on one GPU."""
        return self.layer_token_bytes * self.model.layers

    @property
    def copies_per_block(self) -> int:
        """Copies that move a block of tokens through all layers."""
        if self.layout == ONE:
            return 1
        # Latent, there is nothing to split.
        split = self.layout == SPLIT and not self.model.latent_dim
        return self.model.layers * (2 if split else 1)

    @property
    def copy_bytes(self) -> int:
        """Bytes of one copy."""
        return self.token_bytes * self.block_tokens // self.copies_per_block

    @property
    def request_blocks(self) -> int:
        """Blocks of tokens that the request takes; the last may be partly empty."""
        return -(-self.tokens // self.block_tokens)

    @property
    def request_copies(self) -> int:
        """Copies that move the request."""
        return self.request_blocks * self.copies_per_block

    @property
    def request_bytes(self) -> int:
        """Bytes that they move."""
        return self.request_copies * self.copy_bytes

    @property
    def window_copies(self) -> int:
        """Copies of the request where layers with a window keep that alone.

        The window may begin inside of a block, so it touches one more. The same as
        `request_copies` where there are no such layers, or one block has all layers.
        """
        model = self.model
        if not model.window_layers or self.layout == ONE:
            return self.request_copies
        kept = min(self.request_blocks, -(-model.window // self.block_tokens) + 1)
        spared = (self.request_blocks - kept) * model.window_layers
        return self.request_copies - spared * self.copies_per_block // model.layers

    def describe(self) -> str:
        """In a few words."""
        return (
            f"{self.model.name}, {self.dtype}, {self.block_tokens} tokens a block, "
            f"layout {self.layout}, tensor parallel {self.tensor_parallel}"
        )
