"""Errors of kvswap's calls beyond TypeError and ValueError."""

from __future__ import annotations

from kvswap.records import Memory


class SwapError(RuntimeError):
    """A call that could not be carried out, or not to its end.

    ``str(error)`` says what happened, to which descriptor, and what to do.
    ``submitted`` descriptors (those of size zero not counted) are enqueued on the
    stream all the same: the first ones, or, where kernels and a copy engine share a
    call, those of the kernels first. It is 0 for every error but the driver's own. Where
    the driver refused a batch at ``index``, it may have enqueued that batch's copies
    before ``index`` too (driver 580 does); ``submitted`` does not count them.

    Attributes:
        status: what kind of error: "no_driver", "no_context", "memory",
            "devices", "capture", "driver", "unsupported" or "out_of_memory".
        index: position of the descriptor at fault, or of the pair of blocks; None
            where it is not one's.
        region: of a call between block pools, the region at fault, else None.
        cuda_error: the CUresult that the driver returned, else 0.
        submitted: copies that the driver had accepted.
        submitted_bytes: bytes of those.
        source: address that the descriptor at fault reads, or None.
        destination: address that it writes, or None.
        size: bytes it copies, or None.
        source_memory: what the driver says of the source, or None.
        destination_memory: the same of the destination.
        unavailable: for each engine that was asked for or preferred and could
            not run: the reason, as "legacy_stream".
    """

    def __init__(
        self,
        message: str,
        *,
        status: str = "unknown",
        index: int | None = None,
        cuda_error: int = 0,
        submitted: int = 0,
        submitted_bytes: int = 0,
        source: int | None = None,
        destination: int | None = None,
        size: int | None = None,
        source_memory: Memory | None = None,
        destination_memory: Memory | None = None,
        unavailable: dict[str, str] | None = None,
        region: int | None = None,
    ) -> None:
        # Only the message is an argument of the exception: pickle rebuilds an
        # exception from its arguments and then restores its attributes.
        super().__init__(message)
        self.status = status
        self.index = index
        self.region = region
        self.cuda_error = cuda_error
        self.submitted = submitted
        self.submitted_bytes = submitted_bytes
        self.source = source
        self.destination = destination
        self.size = size
        self.source_memory = source_memory
        self.destination_memory = destination_memory
        self.unavailable = unavailable if unavailable is not None else {}


class UnsupportedError(SwapError, ValueError):
    """What was asked for cannot be honoured on this driver or stream.

    An engine asked for under ``strict``, or ``src_access="during_api_call"``
    where the batch engine cannot run. Nothing was submitted, and
    ``unavailable`` says why.
    """
