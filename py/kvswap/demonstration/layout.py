"""How large the cells of two grids may be on a terminal of some size."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Between the grids, where blocks are seen on their way.
GAP = 9
# Of a grid: its frame, and a blank in each of its sides.
_FRAME = 4
_FRAME_LINES = 2
# So that the titles fit.
_LEAST_GPU_WIDTH, _LEAST_HOST_WIDTH = 20, 36
# Width and height of a cell in characters, the largest first.
_SIZES = ((5, 2), (3, 1), (2, 1), (1, 1))


@dataclass(frozen=True)
class Layout:
    """Sizes in characters.

    Attributes:
        cell_width: of a cell.
        cell_height: of a cell.
        rows: of cells, in both grids.
        gpu_columns: of cells.
        host_columns: of cells.
    """

    cell_width: int
    cell_height: int
    rows: int
    gpu_columns: int
    host_columns: int

    @property
    def gpu_width(self) -> int:
        """Of the GPU's grid with its frame."""
        return max(self.gpu_columns * self.cell_width + _FRAME, _LEAST_GPU_WIDTH)

    @property
    def host_width(self) -> int:
        """Of the host's grid with its frame."""
        return max(self.host_columns * self.cell_width + _FRAME, _LEAST_HOST_WIDTH)

    @property
    def width(self) -> int:
        """Of both grids and what is between them."""
        return self.gpu_width + GAP + self.host_width

    @property
    def height(self) -> int:
        """Of the grids with their frames."""
        return self.rows * self.cell_height + _FRAME_LINES


def choose_layout(gpu: int, host: int, width: int, height: int) -> Layout | None:
    """The largest cells with which grids of so many blocks fit; None: no such."""
    for cell_width, cell_height in _SIZES:
        fitting = []
        for rows in range(1, (height - _FRAME_LINES) // cell_height + 1):
            layout = Layout(
                cell_width,
                cell_height,
                rows,
                math.ceil(gpu / rows),
                math.ceil(host / rows),
            )
            if layout.width <= width:
                fitting.append(layout)
        if fitting:
            # Full rows look better than a few cells in the last one.
            return min(
                fitting, key=lambda one: (gpu % one.rows + host % one.rows, one.rows)
            )
    return None
