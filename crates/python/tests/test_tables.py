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


def test_an_unknown_category_is_0_in_all_its_columns_and_named(table, short):
    X, y = table
    model = BnnRegressor(**short).fit(X, y)
    new = X[:5].copy()
    new.loc[new.index[3], "sex"] = "X"
    message = "column `sex` has labels in 1 row that training did not have: X"
    with pytest.warns(UserWarning, match=message):
        predicted = model.predict(new)
    others = [0, 1, 2, 4]
    np.testing.assert_allclose(predicted[others], model.predict(X[:5])[others], rtol=1e-12)
    rows = model._new_rows(X[:5])
    rows[3, 1:4] = 0
    with pytest.warns(UserWarning, match=message):
        assert (model._new_rows(new) == rows).all()


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


@pytest.mark.parametrize("dtype", ["float64", "Float64", "object"])
def test_missing_values_have_the_median_and_a_column_that_says_so(table, short, dtype):
    X, y = table
    gaps = X.assign(
        length=X["length"].where(X.index != 7).astype(dtype),
        sex=X["sex"].where(X.index > 2),
        ripe=X["ripe"].astype("boolean").where(X.index != 5),
    )
    model = BnnRegressor(**short).fit(gaps, y)
    columns = features(model)
    names = ["length", "length is missing", "sex=F", "sex=I", "sex=M", "sex is missing"]
    assert list(columns)[:6] == names
    assert columns["length"][7] == X["length"].drop(7).median()
    assert (columns["length"] == X["length"]).sum() == 59
    assert columns["length is missing"].tolist() == [float(i == 7) for i in range(60)]
    assert columns["sex is missing"].tolist() == [float(i <= 2) for i in range(60)]
    assert columns["sex=F"][:3].tolist() == [0, 0, 0]
    assert columns["ripe is missing"].tolist() == [float(i == 5) for i in range(60)]
    # New rows: where training had gaps nothing is said, else it is warned of.
    assert np.isfinite(model.predict(gaps)).all()
    message = "column `rings` has no value in 2 rows, and had all in training: .* stands there"
    with pytest.warns(UserWarning, match=message):
        new = model._new_rows(gaps.assign(rings=X["rings"].where(X.index < 58)))
    assert (new[58:, -1] == np.median(X["rings"])).all()
    # The gaps outlive the process.
    with pytest.raises(ValueError, match="column `length` has no value in any row: leave it out"):
        BnnRegressor(**short).fit(X.assign(length=pd.Series([None] * 60, dtype=object)), y)
    with pytest.raises(ValueError, match="column `sex` has no value in any row: leave it out"):
        BnnRegressor(**short).fit(X.assign(sex="NA"), y)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        BnnRegressor(**short).fit(X[:0], y[:0])
    for nothing in (np.nan, pd.NaT):
        with pytest.raises(ValueError, match="column `none` has no value in any row: leave it out"):
            BnnRegressor(**short).fit(X.assign(none=nothing), y)


def test_missing_values_outlive_the_process(table, short, tmp_path):
    X, y = table
    gaps = X.assign(length=X["length"].where(X.index > 7), sex=X["sex"].where(X.index > 2))
    model = BnnRegressor(**short).fit(gaps, y)
    model.save(tmp_path / "run")
    again = BnnRegressor.load(tmp_path / "run")
    assert (again.predict(gaps) == model.predict(gaps)).all()
    (tmp_path / "run" / "estimator.json").unlink()
    again = BnnRegressor.load(tmp_path / "run")
    assert (again.predict(gaps) == model.predict(gaps)).all()
    # A column with one value where it has any is left out.
    with pytest.warns(UserWarning, match=r"are left out: `same` \(3\)"):
        model = BnnRegressor(**short).fit(X.assign(same=np.where(X.index > 7, 3.0, np.nan)), y)
    assert not any(name.startswith("same") for name in features(model))


def test_identifiers_and_durations_are_refused(table, short):
    X, y = table
    names = [f"row {i}" for i in range(60)]
    with pytest.warns(UserWarning, match="`name`, text of 60 kinds in 60 rows, is left out"):
        model = BnnRegressor(**short).fit(X.assign(name=names), y)
    plain = BnnRegressor(**short).fit(X, y)
    assert (model.predict(X.assign(name="any")) == plain.predict(X)).all()
    BnnRegressor(**short).fit(X.assign(name=pd.Categorical(names)), y)
    with pytest.raises(ValueError, match="column `span` has the type timedelta64"):
        BnnRegressor(**short).fit(X.assign(span=pd.to_timedelta(range(60), unit="D")), y)


def test_text_of_many_kinds_is_grouped_or_left_out(table, short, tmp_path):
    """As the command does it, and told."""
    X, y = (pd.concat([half, half], ignore_index=True) for half in table)
    kinds = [f"kind {i % 55}" for i in range(120)]
    with pytest.warns(UserWarning, match='an intercept for each kind, as by `group="place"`'):
        model = BnnRegressor(**short).fit(X.assign(place=kinds), y)
    by_name = BnnRegressor(**short, group="place").fit(X.assign(place=kinds), y)
    assert (model.predict(X.assign(place=kinds)) == by_name.predict(X.assign(place=kinds))).all()
    model.save(tmp_path / "run")
    loaded = BnnRegressor.load(tmp_path / "run")
    new = X.assign(place="kind 3")
    assert (loaded.predict(new) == by_name.predict(new)).all()
    with pytest.raises(ValueError, match="no column is left for the features"):
        BnnRegressor(**short).fit(pd.DataFrame({"place": kinds}), y)
    gaps = pd.Series(kinds).where(np.arange(120) != 7)
    with pytest.warns(UserWarning, match="`place`, .*, is left out, since some rows have none"):
        model = BnnRegressor(**short).fit(X.assign(place=gaps), y)
    plain = BnnRegressor(**short).fit(X, y)
    assert (model.predict(X.assign(place=gaps)) == plain.predict(X)).all()


def test_gaps_of_arrays_are_those_of_tables(table, short):
    X, y = table
    X = X[["length", "rings"]].astype(float)
    X.iloc[[3, 9], 0] = np.nan
    of_table = BnnRegressor(**short).fit(X, y)
    model = BnnRegressor(**short).fit(X.to_numpy(), y)
    new = X.iloc[:12].copy()
    new.iloc[5, 1] = np.nan
    with pytest.warns(UserWarning, match="`x2` has no value in 1 row, and had all in training"):
        found = model.predict(new.to_numpy())
    with pytest.warns(UserWarning, match="`rings` has no value in 1 row"):
        assert (found == of_table.predict(new)).all()
    # A model of a table takes arrays, too, unless a column is no number.
    with pytest.warns(UserWarning, match="valid feature names"):
        assert (of_table.predict(X.to_numpy()) == of_table.predict(X)).all()
    with pytest.raises(ValueError, match="column `x2` has no value in any row"):
        BnnRegressor(**short).fit(np.column_stack([X["length"], np.full(60, np.nan)]), y)
    dated = X.assign(day=pd.date_range("2024-01-01", periods=60))
    with pytest.raises(ValueError, match="as in training: column `day` has dates"):
        BnnRegressor(**short).fit(dated, y).predict(np.ones((2, 3)))


def test_whole_numbers_are_the_same_labels_as_floats(table, short):
    X, y = table
    X = X[["grade", "length"]].astype({"grade": int}).astype({"grade": "category"})
    model = BnnRegressor(**short).fit(X, y)
    as_floats = X.astype({"grade": float})
    assert (model.predict(as_floats) == model.predict(X)).all()


def test_intervals_are_classes(table, short):
    X, y = table
    cut = pd.cut(y, 3)
    model = BnnClassifier(**short).fit(X, cut)
    assert set(model.classes_) == {str(interval) for interval in cut}
    in_order = BnnClassifier(**short, noise="ordinal").fit(X, cut)
    assert in_order._inner == [str(interval) for interval in cut.cat.categories]
    assert (BnnClassifier(**short).fit(X, cut.array).predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match=r"y, row 0: `.*` is text, but must be a number"):
        BnnRegressor(**short).fit(X, cut)


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
    with pytest.warns(UserWarning, match=r"did not have: x{40}\.\.\.$") as warned:
        model.predict(X.assign(name="x" * 100_000))
    assert len(str(warned[0].message)) < 1000
    assert warned[0].filename == __file__


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
    assert (model.predict(X.assign(country="SE")) == model.predict(X)).all()
    with pytest.raises(ValueError, match="every column is constant"):
        BnnRegressor(**short).fit(X[["year"]], y)


def test_classes_from_a_column(table, short):
    X, _ = table
    model = BnnClassifier(**short).fit(X.drop(columns="sex"), X["sex"])
    assert list(model.classes_) == ["F", "I", "M"]
    tree = model.to_datatree()
    assert tree["observed_data"]["sex"].attrs["class_names"] == ["F", "I", "M"]


@pytest.mark.parametrize(
    "numbers", [[float(i) for i in range(50)], [i % 2 == 0 for i in range(50)]]
)
def test_dates_are_never_numbers(short, numbers):
    model = BnnRegressor(**short).fit(pd.DataFrame({"a": numbers}), np.arange(50.0))
    days = pd.to_datetime(["2020-01-01", "1970-01-01"])
    tables = [pd.DataFrame({"a": days}), pd.DataFrame({"a": days.date})]
    polars = pytest.importorskip("polars", reason="tables of polars, which is not installed")
    tables.append(polars.DataFrame({"a": days.date.tolist()}))
    for table in tables:
        with pytest.raises(ValueError, match="column `a` must have numbers"):
            model.predict(table)


def test_times_with_a_zone_are_instants(short):
    times = pd.date_range("2024-03-01", periods=60, freq="7h")
    y = np.sin(2 * np.pi * times.hour / 24)

    def frame(times):
        return pd.DataFrame({"at": times})

    local = frame(times.tz_localize("Europe/Berlin"))
    model = BnnRegressor(**short).fit(local, y)
    expected = model._new_rows(local)
    for zone in ["UTC", "America/New_York"]:
        moved = frame(times.tz_localize("Europe/Berlin").tz_convert(zone))
        assert (model._new_rows(moved) == expected).all()
    with pytest.raises(ValueError, match="has no time zone, and had Europe/Berlin in training"):
        model.predict(frame(times))
    naive = BnnRegressor(**short).fit(frame(times), y)
    with pytest.raises(ValueError, match="has the time zone UTC, and had none in training"):
        naive.predict(frame(times.tz_localize("UTC")))
    objects = frame(pd.Series([*times[:59], times[59].tz_localize("UTC")], dtype=object))
    with pytest.raises(ValueError, match="times of several time zones"):
        naive.predict(objects)


def test_blanks_at_the_ends_of_labels_are_told(short):
    X = pd.DataFrame({"kind": ["a", " a", "b", "b "] * 10, "x": np.arange(40.0)})
    message = "column `kind` has labels with blanks at their ends, such as ` a` in row 1, which do"
    with pytest.warns(UserWarning, match=message) as warned:
        model = BnnRegressor(**short).fit(X, X["x"])
    assert warned[0].filename == __file__
    assert list(features(model)) == ["kind=a", "kind=b", "x"]
