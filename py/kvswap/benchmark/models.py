"""The KV caches of models that many serve, from their public configuration files.

Of a `config.json`: `num_hidden_layers`; `num_key_value_heads` and `head_dim` (or
`hidden_size / num_attention_heads`); where attention is latent (MLA) `kv_lora_rank +
qk_rope_head_dim` instead; of `layer_types` and `sliding_window` the layers that look back
over a window only.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvswap.close_names import did_you_mean

DTYPE_BYTES = {"bf16": 2, "fp8": 1}

# How the blocks of a cache lie. The names are those of --layout.
LAYERS = "layers"
SPLIT = "split"
ONE = "one"
LAYOUTS = {
    LAYERS: "each layer a block of its own, keys and values together",
    SPLIT: "each layer a block of keys and a block of values",
    ONE: "one block over all layers",
}


@dataclass(frozen=True)
class Model:
    """What a token leaves in the cache.

    Attributes:
        name: as --model takes it.
        source: whose `config.json` it is, as "organisation/repository" on the Hugging Face
            hub.
        layers: that have a cache.
        kv_heads: of keys and of values; 0: attention is latent.
        head_dim: of one of them.
        latent_dim: numbers of a token and layer that stand for keys and values together;
            0: attention is not latent.
        window_layers: of the layers, those that look back over a window only.
        window: tokens of that.
    """

    name: str
    source: str
    layers: int
    kv_heads: int = 0
    head_dim: int = 0
    latent_dim: int = 0
    window_layers: int = 0
    window: int = 0


MODELS = (
    Model("llama-3-8b", "meta-llama/Meta-Llama-3-8B", 32, 8, 128),
    Model("llama-3-70b", "meta-llama/Meta-Llama-3-70B", 80, 8, 128),
    Model("qwen3-8b", "Qwen/Qwen3-8B", 36, 8, 128),
    Model("qwen3-14b", "Qwen/Qwen3-14B", 40, 8, 128),
    Model("qwen3-32b", "Qwen/Qwen3-32B", 64, 8, 128),
    Model("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", 48, 4, 128),
    Model("qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", 94, 4, 128),
    Model(
        "gpt-oss-20b",
        "openai/gpt-oss-20b",
        24,
        8,
        64,
        window_layers=12,
        window=128,
    ),
    Model(
        "gpt-oss-120b",
        "openai/gpt-oss-120b",
        36,
        8,
        64,
        window_layers=18,
        window=128,
    ),
    Model("deepseek-v3", "deepseek-ai/DeepSeek-V3", 61, latent_dim=512 + 64),
    Model("deepseek-r1", "deepseek-ai/DeepSeek-R1", 61, latent_dim=512 + 64),
)


def find(name: str) -> Model:
    """A model by its name.

    Raises:
        ValueError: there is none.
    """
    for model in MODELS:
        if model.name == name.lower():
            return model
    names = [model.name for model in MODELS]
    raise ValueError(
        f"{name!r} is no model that is known here ({', '.join(names)})"
        f"{did_you_mean(name, names)}"
    )
