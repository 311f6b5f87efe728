"""The native half: fits with arrays in and arrays out."""

from os import PathLike
from typing import Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__version__: str

def _spelled() -> list[str]: ...
def choices() -> dict[str, list[str]]: ...

Matrix: TypeAlias = NDArray[np.float64]

class Settings(TypedDict):
    model: str | None
    hidden: list[int] | None
    activation: str
    skip: bool | None
    weight_prior: str | float | None
    noise: str | None
    response_transform: str | None
    power_features: bool | None
    method: str | None
    target_accept: float | None
    chains: int | None
    warmup: int | None
    draws: int | None
    minutes: float | None
    seed: int
    impute: int | None
    folder: str | PathLike[str] | None
    verbose: bool
    threads: int

class ColumnOfFit(TypedDict):
    name: str
    cells: str
    levels: list[str]
    dates: Dates | None
    fill: float | None
    marked: bool

class Dates:
    @staticmethod
    def of(times: NDArray[np.float64], is_clock: bool) -> Dates: ...
    @staticmethod
    def read(text: str) -> Dates: ...
    def text(self) -> str: ...
    def features(self, column: str) -> list[str]: ...
    def encoded(self, times: NDArray[np.float64], years: float) -> Matrix: ...

class Fit:
    @staticmethod
    def numbers(
        counts: bool,
        x: Matrix,
        y: Matrix,
        weights: list[float] | None,
        columns: list[ColumnOfFit],
        response_names: list[str],
        settings: Settings,
    ) -> Fit: ...
    @staticmethod
    def classes(
        x: Matrix,
        classes: list[int],
        weights: list[float] | None,
        class_names: list[str],
        columns: list[ColumnOfFit],
        response_names: list[str],
        settings: Settings,
    ) -> Fit: ...
    @staticmethod
    def times(
        x: Matrix,
        lower: list[float],
        upper: list[float],
        weights: list[float] | None,
        columns: list[ColumnOfFit],
        response_names: list[str],
        settings: Settings,
    ) -> Fit: ...
    @staticmethod
    def load(folder: str | PathLike[str], threads: int) -> Fit: ...
    def save(self, folder: str | PathLike[str], threads: int) -> None: ...
    def save_unflushed(self, folder: str | PathLike[str], threads: int) -> None: ...
    def is_imputed(self) -> bool: ...
    def to_zarr(self, path: str | PathLike[str], threads: int) -> None: ...
    def predict(
        self, x: Matrix, with_sd: bool, level: float | None, threads: int
    ) -> list[Matrix]: ...
    def conformal(
        self, x: Matrix, calibration: tuple[Matrix, Matrix] | None, level: float, threads: int
    ) -> list[Matrix]: ...
    def conformal_sets(
        self, x: Matrix, calibration: tuple[Matrix, list[int]] | None, level: float, threads: int
    ) -> Matrix: ...
    def scores_of_numbers(
        self, x: Matrix, y: Matrix, weights: list[float] | None, threads: int
    ) -> list[tuple[str, float]]: ...
    def scores_of_classes(
        self, x: Matrix, classes: list[int], weights: list[float] | None, threads: int
    ) -> list[tuple[str, float]]: ...
    def scores_of_times(
        self,
        x: Matrix,
        lower: list[float],
        upper: list[float],
        weights: list[float] | None,
        threads: int,
    ) -> list[tuple[str, float]]: ...
    def medians(self, x: Matrix, level: float | None, threads: int) -> list[Matrix]: ...
    def survival(
        self, x: Matrix, times: list[float], level: float | None, threads: int
    ) -> list[Matrix]: ...
    def verdict(self, threads: int) -> tuple[str, bool, str]: ...
    def run(self) -> str: ...
    def recipe(self) -> str: ...
    def description(self) -> str: ...
    def search(self) -> tuple[str, str] | None: ...
    def save_error(self) -> str | None: ...
    def __deepcopy__(self, _memo: Any) -> Fit: ...
