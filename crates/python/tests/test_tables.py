"""Tables: names, categories, missing values; those of other libraries in `test_equal_tables.py`."""

import numpy as np
import pytest
from bnn_mcmc import BnnClassifier, BnnRegressor

pd = pytest.importorskip("pandas", reason="tables are those of pandas, which is not installed")


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    n = 60
    X = pd.DataFrame(
        {
            "length": rng.normal(size=n),
            "sex": rng.choice(["M", "F", "I"], size=n),
            "grade": pd.Categorical(rng.choice([10, 9, 8], size=n), categories=[7, 8, 9, 10]),
            "ripe": rng.random(n) < 0.5,
            "rings": rng.integers(0, 20, size=n),
        }
    )
    y = 3 * X["length"] + 2 * (X["sex"] == "F") + X["ripe"] + 0.1 * rng.normal(size=n)
    return X, y.rename("weight")


def features(model):
    pytest.importorskip("zarr", reason="features are read by zarr, which is not installed")
    x = model.to_datatree()["constant_data"]["x"]
    return {str(name): x.values[:, j] for j, name in enumerate(x["feature"].values)}


def test_categories_are_a_column_for_each_level(table, short):
    X, y = table
    model = BnnRegressor(**short).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 5
    columns = features(model)
    # Levels as text in order, by size if all are numbers; those that do not occur are none.
    names = ["length", "sex=F", "sex=I", "sex=M", "grade=8", "grade=9", "grade=10", "ripe", "rings"]
    assert list(columns) == names
    for level in "FIM":
        assert (columns[f"sex={level}"] == (X["sex"] == level)).all()
    assert (columns["grade=9"] == (X["grade"] == 9)).all()
    assert (columns["ripe"] == X["ripe"]).all()
    assert model.score(X, y) > 0.9
    assert list(model.to_datatree()["observed_data"].data_vars) == ["weight"]


def test_types_of_text_are_the_same_to_it(table, short):
    X, y = table
    expected = BnnRegressor(**short).fit(X, y).predict(X)
    for dtype in ("object", "category", "string"):
        converted = X.astype({"sex": dtype})
        assert (BnnRegressor(**short).fit(converted, y).predict(converted) == expected).all()
    halves = X.astype({"length": object, "rings": "Int64", "ripe": "boolean"})
    assert (BnnRegressor(**short).fit(halves, y).predict(halves) == expected).all()


def test_predictions_do_not_depend_on_other_rows(table, short):
    X, y = table
    model = BnnRegressor(**short).fit(X, y)
    whole = model.predict(X)
    np.testing.assert_allclose(model.predict(X[10:12]), whole[10:12], rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(X[X["sex"] == "M"]), whole[X["sex"] == "M"], rtol=1e-12
    )


def test_an_unknown_category_names_row_column_and_value(table, short):
    X, y = table
    model = BnnRegressor(**short).fit(X, y)
    new = X[:5].copy()
    new.loc[new.index[3], "sex"] = "X"
    with pytest.raises(
        ValueError, match=r"row 3, column `sex`: `X` is not among the levels .*: F, I, M"
    ):
        model.predict(new)


def test_columns_must_be_those_of_training(table, short):
    X, y = table
    model = BnnRegressor(**short).fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(X.drop(columns="sex"))
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(X.rename(columns={"sex": "gender"}))
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X must be a table with names"),
    ):
        model.predict(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="column `length` must have numbers, as in training"):
        model.predict(X.assign(length="long"))


def test_missing_values_are_named(table, short):
    X, y = table
    with pytest.raises(ValueError, match="row 7, column `sex`: the value is missing"):
        BnnRegressor(**short).fit(X.assign(sex=X["sex"].where(X.index != 7)), y)
    with pytest.raises(ValueError, match="row 7, column `length`: the value is missing"):
        BnnRegressor(**short).fit(X.assign(length=X["length"].where(X.index != 7)), y)
    with pytest.raises(ValueError, match="row 7, column `other`: the value is missing"):
        BnnRegressor(**short).fit(X[["length"]].assign(other=X["length"].where(X.index != 7)), y)


def test_identifiers_and_times_are_refused(table, short):
    X, y = table
    names = [f"row {i}" for i in range(60)]
    with pytest.raises(ValueError, match="column `name` has 60 different texts"):
        BnnRegressor(**short).fit(X.assign(name=names), y)
    BnnRegressor(**short).fit(X.assign(name=pd.Categorical(names)), y)
    with pytest.raises(ValueError, match="column `day` has the type datetime64"):
        BnnRegressor(**short).fit(X.assign(day=pd.date_range("2026-01-01", periods=60)), y)


def test_arrays_of_times_are_refused(wave, short):
    X, y = wave
    with pytest.raises(ValueError, match="X has the type datetime64"):
        BnnRegressor(**short).fit(X.astype("M8[s]"), y)
    with pytest.raises(ValueError, match="y has the type datetime64"):
        BnnRegressor(**short).fit(X, y.astype("M8[s]"))
    model = BnnRegressor(**short).fit(X, y)
    with pytest.raises(ValueError, match="X has the type timedelta64"):
        model.predict(X.astype("m8[s]"))


def test_errors_show_the_beginning_of_a_long_level(table, short):
    X, y = table
    names = pd.Categorical([f"level {i}" for i in range(60)])
    model = BnnRegressor(**short).fit(X.assign(name=names), y)
    with pytest.raises(ValueError, match=r"`x{80} \.\.\.` is not among .* and 10 more$") as raised:
        model.predict(X.assign(name="x" * 100_000))
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("dtype", "missing"), [(object, None), (object, np.nan), ("string", pd.NA), ("category", None)]
)
def test_a_class_that_is_missing_is_named(table, short, dtype, missing):
    X, _ = table
    y = X["sex"].astype(dtype)
    y[7] = missing
    for labels in (y, np.asarray(y)):
        with pytest.raises(ValueError, match="y, row 7: the value is missing"):
            BnnClassifier(**short).fit(X[["length"]], labels)


def test_classes_are_of_one_type(table, short):
    X, _ = table
    y = X["sex"].astype(object)
    y[7] = 3
    with pytest.raises(
        ValueError, match="row 7: the class `3` has the type int, and that of row 0"
    ):
        BnnClassifier(**short).fit(X[["length"]], y)


def test_constant_columns_are_left_out_with_a_warning(table, short):
    X, y = table
    X = X.assign(country="NO", year=2026)
    message = r"constant over all training rows are left out: `country=NO` \(1\), `year` \(2026\)"
    with pytest.warns(UserWarning, match=message) as warned:
        model = BnnRegressor(**short).fit(X, y)
    assert warned[0].filename == __file__
    assert not {"country=NO", "year"} & set(features(model))
    assert (model.predict(X.assign(year=1999)) == model.predict(X)).all()
    with pytest.raises(ValueError, match="`SE` is not among the levels"):
        model.predict(X.assign(country="SE"))
    with pytest.raises(ValueError, match="every column of X is constant"):
        BnnRegressor(**short).fit(X[["year"]], y)


def test_classes_from_a_column(table, short):
    X, _ = table
    model = BnnClassifier(**short).fit(X.drop(columns="sex"), X["sex"])
    assert list(model.classes_) == ["F", "I", "M"]
    tree = model.to_datatree()
    assert tree["observed_data"]["sex"].attrs["class_names"] == ["F", "I", "M"]
