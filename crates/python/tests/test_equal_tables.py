"""Equal tables give equal models: pandas, polars, pyarrow and CSV."""

import datetime
import random
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")

import equal_tables  # noqa: E402  (it needs the libraries above)


@pytest.fixture(scope="module")
def reader():
    if not equal_tables.READER.exists():
        if shutil.which("cargo") is None:
            pytest.skip("cargo is not installed, which builds the example `read_csv`")
        package = ["-p", "bnn-mcmc-python", "--example", "read_csv"]
        command = ["cargo", "build", "--release", "--locked", "--quiet", *package]
        subprocess.run(command, cwd=equal_tables.ROOT, check=True)
    reader = equal_tables.Reader()
    yield reader
    reader.close()


@hypothesis.settings(max_examples=300, deadline=None, derandomize=True, report_multiple_bugs=False)
@hypothesis.given(randoms=hypothesis.strategies.randoms(use_true_random=True))
def test_equal_tables_give_equal_models_or_equal_refusals(reader, randoms):
    table = equal_tables.table(random.Random(randoms.getrandbits(64)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal_tables.compare(table, reader, fit=randoms.random() < 0.3)


def test_a_sabotaged_way_is_found(reader, monkeypatch):
    """The comparison fails where one library's columns are taken for others."""
    whole = equal_tables.in_polars

    def sabotaged(column, rng):
        series = whole(column, rng)
        return series.cast(pl.String) if column.kind == "int" else series

    monkeypatch.setattr(equal_tables, "in_polars", sabotaged)
    with warnings.catch_warnings(), pytest.raises(AssertionError):
        warnings.simplefilter("ignore")
        for seed in range(20):
            equal_tables.compare(equal_tables.table(random.Random(seed)), reader, fit=False)


N = 40
COLOURS = ["red", "blue", "green", "blue"] * (N // 4)
Y = [0.5 * i % 7 for i in range(N)]


def of_each_library(columns):
    table = pa.table(columns)
    return {
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "lazy": pl.from_arrow(table).lazy(),
        "pyarrow": table,
    }


def test_tables_of_all_libraries_predict_the_same(short):
    columns = {"size": [float(i % 5) for i in range(N)], "colour": COLOURS}
    found = {}
    for name, X in of_each_library(columns).items():
        model = BnnRegressor(**short).fit(X, Y)
        assert list(model.feature_names_in_) == ["size", "colour"]
        found[name] = model.predict(X)
        with pytest.raises(ValueError, match="unseen at fit time"):
            model.predict(pl.DataFrame({"size": [1.0], "color": ["red"]}))
    for name, predicted in found.items():
        assert (predicted == found["pandas"]).all(), name


def test_dates_are_refused(short):
    first = datetime.date(2026, 1, 1)
    days = [first + datetime.timedelta(days=i) for i in range(N)]
    for X in of_each_library({"size": Y, "day": days}).values():
        with pytest.raises(ValueError, match="column `day`"):
            BnnRegressor(**short).fit(X, Y)
    for X in of_each_library(
        {"day": [datetime.datetime(2026, 1, 1, i % 24) for i in range(N)]}
    ).values():
        with pytest.raises(
            ValueError, match=r"column `day` has the type .*: convert it to numbers"
        ):
            BnnRegressor(**short).fit(X, Y)


def test_text_of_digits_is_text(short):
    for X in of_each_library({"code": [str(8 + i % 3) for i in range(N)]}).values():
        model = BnnRegressor(**short).fit(X, Y)
        assert model._used_names() == ["code=8", "code=9", "code=10"]
    with pytest.raises(ValueError, match="X has the type <U"):
        BnnRegressor(**short).fit(np.array([[str(i)] for i in range(N)]), Y)
    with pytest.raises(ValueError, match="X, row 0, column 0: `0` is text, but must be a number"):
        BnnRegressor(**short).fit(np.array([[str(i)] for i in range(N)], dtype=object), Y)
    with pytest.raises(ValueError, match=r"y, row 0: `0\.0` is text, but must be a number"):
        BnnRegressor(**short).fit(np.ones((N, 1)), pl.Series([str(y) for y in Y]))


@pytest.mark.parametrize("dtype", ["Categorical", "Enum"])
def test_categories_of_polars(short, dtype):
    kind = pl.Categorical if dtype == "Categorical" else pl.Enum(["blue", "green", "red", "grey"])
    X = pl.DataFrame({"colour": pl.Series(COLOURS, dtype=kind)})
    model = BnnRegressor(**short).fit(X, Y)
    assert model._used_names() == ["colour=blue", "colour=green", "colour=red"]
    text = pl.DataFrame({"colour": COLOURS})
    assert (model.predict(X) == BnnRegressor(**short).fit(text, Y).predict(text)).all()


def test_mixed_objects_are_refused(short):
    X = pd.DataFrame({"size": pd.Series(["a", 3] * (N // 2), dtype=object)})
    with pytest.raises(
        ValueError, match="row 1, column `size`: `3` has the type int, and row 0 str"
    ):
        BnnRegressor(**short).fit(X, Y)


@pytest.mark.parametrize("text", ["NA", "n/a", "NaN", "null", "?", "", "  "])
def test_texts_that_stand_for_missing_values_are_missing(short, text):
    for X in of_each_library({"colour": [*COLOURS[:-1], text], "size": Y}).values():
        model = BnnRegressor(**short).fit(X, Y)
        levels = [f"colour={level}" for level in ("blue", "green", "red")]
        assert model._used_names() == [*levels, "colour is missing", "size"]
        assert model._new_rows(X)[-1, :4].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_classes_keep_their_type(short, library):
    X = np.linspace(0, 1, N)[:, None]
    ones = [int(x > 0.5) for x in X[:, 0]]
    for values, kind in (
        ([[3, 7][one] for one in ones], "i"),
        ([bool(one) for one in ones], "b"),
        ([["no", "yes"][one] for one in ones], "O"),
    ):
        if library == "pandas":
            y = pd.Series(values, dtype={"i": "Int64", "b": "boolean", "O": "string"}[kind])
        else:
            y = pl.Series(values) if library == "polars" else pa.chunked_array([values])
        model = BnnClassifier(**short).fit(X, y)
        assert model.classes_.dtype.kind == kind
        assert model.classes_.tolist() == sorted(set(values))
        assert model.predict(X).dtype == model.classes_.dtype
        assert model.score(X, y) == model.scores(X, y)["accuracy"] > 0.8


def test_responses_of_all_libraries(short):
    X = np.linspace(0, 1, N)[:, None]
    expected = BnnRegressor(**short).fit(X, Y).predict(X)
    counts = [i % 4 for i in range(N)]
    expected_counts = BnnCounts(**short).fit(X, counts).predict(X)
    for make in (
        pl.Series,
        lambda y: pa.chunked_array([y]),
        lambda y: pd.Series(y).convert_dtypes(),
    ):
        assert (BnnRegressor(**short).fit(X, make(Y)).predict(X) == expected).all()
        assert (BnnCounts(**short).fit(X, make(counts)).predict(X) == expected_counts).all()
        assert BnnRegressor(**short).fit(X, make(Y)).score(X, make(Y)) < 1
        with pytest.raises(ValueError, match="y, row 0: the value is missing"):
            BnnRegressor(**short).fit(X, make([None, *Y[1:]]))
    both = pl.DataFrame({"one": Y, "two": counts})
    model = BnnRegressor(**short).fit(X, both)
    assert model.predict(X).shape == (N, 2) and model._y_names == ["one", "two"]


def test_classes_that_are_numbers_in_text_are_in_the_order_of_text_here(short):
    """`classes_` is sorted, as everywhere in scikit-learn; the network has them by size."""
    X = np.linspace(0, 1, 60)[:, None]
    y = np.array(["9", "10", "100"])[(3 * X[:, 0]).astype(int).clip(0, 2)]
    model = BnnClassifier(**{**short, "warmup": 300}).fit(X, y)
    assert model.classes_.tolist() == ["10", "100", "9"]
    assert model.score(X, y) == model.scores(X, y)["accuracy"] > 0.8
    ints = BnnClassifier(**{**short, "warmup": 300}).fit(X, y.astype(int))
    assert ints.classes_.tolist() == [9, 10, 100]
    assert (model.predict_proba(X)[:, [2, 0, 1]] == ints.predict_proba(X)).all()


def test_new_rows_may_have_labels_as_numbers(short):
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 3, 2] * (N // 4))})
    model = BnnRegressor(**short).fit(X, Y)
    assert (
        model.predict(pd.DataFrame({"code": [1, 2, 3, 2] * (N // 4)})) == model.predict(X)
    ).all()


def test_a_column_that_was_true_or_false_stays_so(short):
    X = pl.DataFrame({"ripe": [i % 3 == 0 for i in range(N)], "size": Y})
    model = BnnRegressor(**short).fit(X, Y)
    as_numbers = X.with_columns(pl.col("ripe").cast(pl.Int8))
    assert (model.predict(as_numbers) == model.predict(X)).all()
    with pytest.raises(ValueError, match=r"row 0, column `ripe`: `2` is neither True .* nor False"):
        model.predict(X.with_columns(ripe=pl.lit(2)))
