"""Tickets: when the copies of a call are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvswap import _core
    from kvswap.argument_types import Stream

_ALL_LAYERS = -1


class Completion:
    """When some copies are done. None of its methods disturbs a graph capture."""

    __slots__ = ("_device", "_done", "_events", "_layer")

    def __init__(self) -> None:
        raise TypeError("tickets are made by copies between block pools alone")

    def _set(
        self, events: _core._Ticket | None, device: int | None, layer: int, done: bool
    ) -> None:
        self._events = events
        self._device = -1 if device is None else device
        self._layer = layer
        self._done = done

    def _known_events(self) -> _core._Ticket:
        if self._events is None:
            raise RuntimeError(
                "the call was made with ticket=False, so nothing tells when its copies "
                "are done: synchronise with its stream"
            )
        return self._events

    def done(self) -> bool:
        """Whether the copies are done; does not wait.

        Raises:
            SwapError: the driver reports an error, as of earlier work.
        """
        if not self._done:
            self._done = self._known_events().done(self._layer)
        return self._done

    def wait(self) -> None:
        """Waits on the host until the copies are done, without the GIL.

        Raises:
            SwapError: the driver reports an error, as of earlier work.
        """
        if not self._done:
            self._known_events().wait(self._layer)
            self._done = True

    def wait_stream(self, stream: Stream | None = None) -> None:
        """Makes what is submitted to a stream from now on wait for the copies.

        Args:
            stream: as in `kvswap.swap_blocks_batch`; None is torch's current stream of
                the device that the copies run on.

        Raises:
            SwapError: the stream captures a graph (status "capture"), or the driver
                reports an error.
        """
        if not self._done:
            self._known_events().wait_stream(self._layer, stream, self._device)


class Ticket(Completion):
    """What a call between block pools submitted, and when its copies are done.

    The pools' tensors are kept until the copies are done, also without the ticket.

    Attributes:
        result: what was submitted: a `SwapResult`.
    """

    __slots__ = ("_layers", "result")

    result: _core.SwapResult
    _layers: tuple[int, ...] | None

    def layer(self, layer: int) -> Completion:
        """When one layer's copies are done; for calls with ``layers=True``.

        Layers are copied in ascending order, so those before it are done then too.
        """
        if self._layers is None:
            raise ValueError(
                "the call was made without layers=True, so the ticket knows no layers"
            )
        if layer not in self._layers:
            raise ValueError(
                f"there is no layer {layer}: the pools have layers "
                f"{self._layers[0]} to {self._layers[-1]}"
            )
        completion = Completion.__new__(Completion)
        completion._set(self._events, self.result.device, layer, self._done)
        return completion

    def __repr__(self) -> str:
        state: Any = "unknown" if self._events is None and not self._done else None
        if state is None:
            state = "done" if self._done else "not known to be done"
        return f"<Ticket of {self.result.submitted} copies, {state}>"


def make_ticket(
    result: _core.SwapResult,
    events: _core._Ticket | None,
    layers: tuple[int, ...] | None,
) -> Ticket:
    """The ticket of a call.

    Args:
        result: what was submitted.
        events: when it is done; None: nothing tells.
        layers: the layers that the events know; None: they know none.
    """
    ticket = Ticket.__new__(Ticket)
    ticket._set(events, result.device, _ALL_LAYERS, done=not result.submitted)
    ticket.result = result
    ticket._layers = layers
    return ticket
