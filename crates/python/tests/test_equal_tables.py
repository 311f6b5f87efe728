"""Equal tables give equal models: pandas, polars and pyarrow; files are in `test_files.py`."""

import datetime

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnCounts, BnnRegressor

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

WEEK = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
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


def test_dates_become_time_season_weekday_and_hour(short, tmp_path):
    first = datetime.datetime(2024, 1, 1, 6)
    days = [first + datetime.timedelta(days=11 * i, hours=i % 5) for i in range(N)]
    days[3] = None
    names = ["day years", "day season sin", "day season cos"]
    names += [f"day={day}" for day in WEEK] + ["day hour sin", "day hour cos", "day is missing"]
    found = {}
    for name, X in of_each_library({"size": Y, "day": days}).items():
        model = BnnRegressor(**short).fit(X, Y)
        assert model._used_names() == ["size", *names]
        found[name] = model._new_rows(X)
        assert (model.predict(X) == model.predict(X)).all()
        # A file, and the process after this one.
        model.save(tmp_path / name)
        again = BnnRegressor.load(tmp_path / name)
        assert (again._new_rows(X) == found[name]).all()
        assert (again.predict(X) == model.predict(X)).all()
        (tmp_path / name / "estimator.json").unlink()
        assert (BnnRegressor.load(tmp_path / name)._new_rows(X) == found[name]).all()
        with pytest.raises(ValueError, match="column `day` must have dates or times"):
            model.predict(pd.DataFrame({"size": Y, "day": Y}))
    for name, x in found.items():
        assert (x == found["pandas"]).all(), name
    x = found["pandas"][:, 1:]
    years = np.array([11 * i + (i % 5) / 24 for i in range(N)]) / 365.2425
    years[3] = np.median(np.delete(years, 3))
    np.testing.assert_allclose(x[:, 0], years, atol=1e-12)
    assert x[3, 1:].tolist() == [0] * 11 + [1]
    assert (x[:, 3:10].argmax(axis=1)[4:] == [day.weekday() for day in days[4:]]).all()
    hours = np.array([6 + i % 5 for i in range(N)])[4:]
    np.testing.assert_allclose(x[4:, 10], np.sin(2 * np.pi * hours / 24), atol=1e-12)
    # Objects of Python, times with a zone, and times of the day.
    objects = pd.DataFrame({"size": Y, "day": pd.Series(days, dtype=object)})
    assert (BnnRegressor(**short).fit(objects, Y)._new_rows(objects) == found["pandas"]).all()
    zoned = pl.DataFrame({"size": Y, "day": pl.Series(days).dt.replace_time_zone("Asia/Tokyo")})
    assert (BnnRegressor(**short).fit(zoned, Y)._new_rows(zoned) == found["pandas"]).all()
    clock = pl.DataFrame({"at": [datetime.time(i % 24) for i in range(N)]})
    model = BnnRegressor(**short).fit(clock, Y)
    assert model._used_names() == ["at hour sin", "at hour cos"]
    np.testing.assert_allclose(model._new_rows(clock)[6], [1, 0], atol=1e-12)


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
    with pytest.raises(ValueError, match=r"row 0, column `ripe`: `2` is neither true .* nor false"):
        model.predict(X.with_columns(ripe=pl.lit(2)))
