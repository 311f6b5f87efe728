"""Figures: SVG of the native half, or marks on axes of matplotlib."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

# The colours of the SVG (Okabe and Ito).
SERIES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B8A900")
SYMBOLS = {"dot": "o", "cross": "x", "triangle": "^"}


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure: shown in notebooks, saved as SVG, or drawn by matplotlib.

    Attributes
    ----------
    title : str
        What is shown, in a few words.
    caption : str
        What is shown and how to read it, in a few sentences.
    svg : str
        The figure as SVG.
    panels : list of dict
        The numbers that are drawn: of each panel its `x` and `y` axis and its `marks`.
    """

    title: str
    caption: str
    svg: str = field(repr=False)
    panels: list[dict[str, Any]] = field(repr=False)
    _columns: int | None = field(default=None, repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the figure to a file as SVG.

        Parameters
        ----------
        path : path
            The file, whose name ends in ``.svg``.
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(
                f"`path` is {str(path)!r}, but must end in `.svg`: `matplotlib()` makes a figure "
                "that can be saved in other formats"
            )
        Path(path).write_text(self.svg, encoding="utf-8")

    def matplotlib(self, axes: Any = None) -> Any:
        """Draws the figure by matplotlib.

        Parameters
        ----------
        axes : matplotlib Axes, or an array of them, optional
            An axes for each panel; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure that the axes belong to.
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError(
                "`matplotlib` needs matplotlib: pip install matplotlib; `save` and notebooks do not"
            ) from error
        count = len(self.panels)
        if axes is None:
            columns = self._columns or min(count, 3)
            rows = -(-count // columns)
            _, axes = pyplot.subplots(
                rows, columns, figsize=(4.5 * columns, 3.5 * rows), layout="constrained"
            )
        flat = np.atleast_1d(np.asarray(axes, dtype=object)).ravel().tolist()
        if not all(hasattr(one, "fill_between") for one in flat):
            raise ValueError(
                f"`axes` is {axes!r}, but must be axes of matplotlib, or an array of them"
            )
        if len(flat) < count:
            raise ValueError(f"`axes` are {len(flat)}, but the figure has {count} panels")
        for panel, one in zip(self.panels, flat, strict=False):
            _draw(one, panel)
        for spare in flat[count:]:
            spare.set_axis_off()
        if count > 1:
            flat[0].figure.suptitle(self.title)
        elif not self.panels[0]["title"]:
            flat[0].set_title(self.title)
        return flat[0].figure


class Figures(list[Figure]):
    """Several figures, which notebooks show one after the other."""

    def _repr_html_(self) -> str:
        shown = (
            f"<figure>{one.svg}<figcaption>{escape(one.caption)}</figcaption></figure>"
            for one in self
        )
        return "\n".join(shown)


def figure_of(drawn: tuple[str, str]) -> Figure:
    """The figure that the native half has made."""
    svg, text = drawn
    figure = json.loads(text)
    return Figure(figure["title"], figure["caption"], svg, figure["panels"], figure["columns"])


def _draw(axes: Any, panel: dict[str, Any]) -> None:
    # A diagonal has no ends of its own.
    for mark in sorted(panel["marks"], key=lambda mark: mark.get("place") == "diagonal"):
        _mark(axes, mark)
    for name in ("x", "y"):
        axis, scale = panel[name], panel[name]["scale"]
        getattr(axes, f"set_{name}label")(axis["label"])
        if scale == "log":
            getattr(axes, f"set_{name}scale")("log")
        elif scale == "bare":
            getattr(axes, f"set_{name}ticks")([])
        elif isinstance(scale, dict):
            names = scale["names"]
            turned = 45 if name == "x" and sum(map(len, names)) > 30 else 0
            getattr(axes, f"set_{name}ticks")(range(len(names)), names, rotation=turned)
        if axis["range"] is not None and None not in axis["range"]:
            getattr(axes, f"set_{name}lim")(*axis["range"])
    if panel["title"]:
        axes.set_title(panel["title"])
    # Marks of one name share an entry.
    handles, labels = axes.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    if entries:
        axes.legend(list(entries.values()), list(entries), fontsize="small")


def _mark(axes: Any, mark: dict[str, Any]) -> None:
    kind, label = mark["mark"], mark.get("name")
    colour = _colour(mark.get("colour", "ink"))
    thin = 0.6 if mark.get("colour") == "muted" else 1.5
    if kind == "line":
        x, y = _columns(mark["points"])
        axes.plot(x, y, color=colour, linewidth=thin, label=label)
    elif kind == "points":
        x, y = _columns(mark["points"])
        symbol = SYMBOLS[mark["symbol"]]
        axes.plot(x, y, symbol, color=colour, markersize=3, label=label)
    elif kind == "band":
        x, low, high = (np.array(mark[name], dtype=float) for name in ("x", "low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.3, linewidth=0, label=label)
    elif kind == "bars":
        edges = np.array(mark["edges"], dtype=float)
        heights = np.array(mark["heights"], dtype=float)
        width = np.diff(edges)
        axes.bar(edges[:-1], heights, width, align="edge", color=colour, alpha=0.5, label=label)
    elif kind == "boxes":
        boxes = [
            {
                "whislo": box["low"],
                "q1": box["lower"],
                "med": box["median"],
                "q3": box["upper"],
                "whishi": box["high"],
                "fliers": box["outliers"],
            }
            for box in mark["boxes"]
        ]
        places = [box["at"] for box in mark["boxes"]]
        if boxes:
            # Matplotlib before 3.9 has no labels of boxes.
            named = {} if label is None else {"label": label}
            axes.bxp(boxes, positions=places, boxprops={"color": colour}, **named)
    elif kind == "intervals":
        for place, interval in enumerate(mark["intervals"]):
            at, name = interval["at"], label if place == 0 else None
            axes.plot(interval["outer"], [at, at], color=colour, linewidth=1, label=name)
            axes.plot(interval["inner"], [at, at], color=colour, linewidth=3)
            axes.plot([interval["value"]], [at], "o", color=colour, markersize=4)
    elif kind == "cells":
        values = np.array(mark["values"], dtype=float)
        colours = "viridis" if mark["palette"] == "viridis" else "Greys"
        low, high = mark["range"]
        axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto", origin="lower")
        for row, texts in enumerate(mark["text"]):
            for column, text in enumerate(texts):
                axes.text(column, row, text, ha="center", va="center", color="#6B6B6B")
    elif kind == "rule":
        place, line = mark["place"], {"color": colour, "linewidth": 1, "label": label}
        if place == "diagonal":
            ends = axes.get_xlim(), axes.get_ylim()
            axes.axline((ends[0][0], ends[0][0]), slope=1.0, **line)
            axes.set(xlim=ends[0], ylim=ends[1])
        elif "horizontal" in place:
            axes.axhline(place["horizontal"], **line)
        else:
            axes.axvline(place["vertical"], **line)


def _colour(colour: Any) -> str:
    if isinstance(colour, dict):
        return SERIES[colour["series"] % len(SERIES)]
    return "#6B6B6B" if colour == "muted" else "#1A1A1A"


def _columns(points: Sequence[Sequence[float | None]]) -> tuple[Any, Any]:
    """x and y; what JSON has no number for is NaN."""
    values = np.array(points, dtype=float).reshape(-1, 2)
    return values[:, 0], values[:, 1]
