"""Golden numbers of transforms of a response, for tests/formulas/transforms.rs.

usage: python3 tests/golden/transforms.py > tests/golden/transforms.json   (needs numpy, scipy, mpmath)

`values`: g(y) by scipy.special.boxcox and scipy.stats.yeojohnson. `profiles`: the lambda that maximises the normal
likelihood, without features by scipy.stats.boxcox_normmax and yeojohnson_normmax, with features by minimising the
negative profile likelihood with numpy's least squares. `moments`: mean and variance of g^-1(z), z normal, by
integration with mpmath.
"""
import json

import mpmath as mp
import numpy as np
from scipy import optimize, special, stats

mp.mp.dps = 30


def box_cox(y, lam):
    return special.boxcox(y, lam)


def yeo_johnson(y, lam):
    return stats.yeojohnson(y, lmbda=lam)


def values():
    cases = []
    for lam in [0.0, 0.3, 1.0, 1.7, 2.0]:
        y = np.array([1e-6, 0.2, 1.0, 3.5, 4e5])
        cases.append({"family": "box_cox", "lambda": lam, "y": y.tolist(), "z": box_cox(y, lam).tolist()})
        y = np.array([-40.0, -1.5, -1e-7, 0.0, 0.3, 2.0, 1e4])
        cases.append({"family": "yeo_johnson", "lambda": lam, "y": y.tolist(), "z": yeo_johnson(y, lam).tolist()})
    return cases


def negative_profile(lam, y, x, family):
    if family == "box_cox":
        z, slopes = box_cox(y, lam), (lam - 1) * np.log(y)
    else:
        z, slopes = yeo_johnson(y, lam), (lam - 1) * np.sign(y) * np.log1p(np.abs(y))
    design = np.column_stack([np.ones(len(y)), x])
    residuals = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return len(y) / 2 * np.log(np.mean(residuals**2)) - slopes.sum()


def profiles():
    p = (np.arange(60) + 0.5) / 60
    order = np.argsort(np.sin(7.0 * np.arange(60)))
    normal = stats.norm.ppf(p)[order]
    x = np.column_stack([np.cos(3.0 * np.arange(60)), np.sin(0.1 * np.arange(60)) * 5])
    line = 2.0 * x[:, 0] - 0.3 * x[:, 1]
    cases = []

    def add(family, y, with_features):
        y = np.asarray(y)
        size = np.sort(np.abs(y[y != 0]))
        unit = 1.0 if family == "box_cox" else float(min(np.std(y), size[(len(size) - 1) // 2]))
        if with_features:
            found = optimize.minimize_scalar(
                negative_profile, args=(y / unit, x, family), bounds=(0, 2), method="bounded", options={"xatol": 1e-10}
            ).x
        elif family == "box_cox":
            found = stats.boxcox_normmax(y, method="mle")
        else:
            found = stats.yeojohnson_normmax(y / unit)
        cases.append(
            {
                "family": family,
                "x": x.tolist() if with_features else None,
                "y": y.tolist(),
                "unit": None if family == "box_cox" else unit,
                "lambda": float(found),
            }
        )

    add("box_cox", 3e4 * stats.gamma.ppf(p, 3.0)[order], False)
    add("box_cox", 1e-3 * stats.lognorm.ppf(p, 0.4)[order] ** 1.2 + 2e-4, False)
    add("box_cox", (8 + 0.7 * normal + line) ** 2.5, True)
    add("box_cox", np.exp(0.3 * normal + 0.5 * line) + 0.8, True)
    add("yeo_johnson", 50 * (stats.gumbel_r.ppf(p)[order]), False)
    add("yeo_johnson", -20 * stats.gumbel_r.ppf(p)[order] - 3, False)
    add("yeo_johnson", 0.01 * np.sinh(0.6 * (normal + line) + 0.4), True)
    add("yeo_johnson", 50 * np.sinh(1.5 * normal + 0.7), False)
    return cases


def inverse(family, lam, z):
    if family == "box_cox":
        if lam == 0:
            return mp.exp(z)
        return mp.mpf(0) if 1 + lam * z <= 0 else (1 + lam * z) ** (1 / mp.mpf(lam))
    a = lam if z >= 0 else 2 - lam
    u = abs(z)
    grown = mp.expm1(u) if a == 0 else (1 + a * u) ** (1 / mp.mpf(a)) - 1
    return grown if z >= 0 else -grown


def moments():
    cases = []
    for family, lam, mean, sd in [
        ("box_cox", 0.0, 0.7, 0.5),
        ("box_cox", 0.0, -2.0, 1.5),
        ("box_cox", 0.25, 1.0, 0.6),
        ("box_cox", 0.5, -1.5, 0.8),
        ("box_cox", 0.5, -6.0, 0.7),
        ("box_cox", 1.0, 0.2, 1.0),
        ("box_cox", 1.8, 0.3, 0.4),
        ("yeo_johnson", 0.0, 0.3, 0.7),
        ("yeo_johnson", 0.4, -0.2, 0.9),
        ("yeo_johnson", 1.0, 5.0, 0.1),
        ("yeo_johnson", 1.6, 0.1, 1.1),
        ("yeo_johnson", 2.0, -1.0, 0.5),
        ("yeo_johnson", 0.2, 3.0, 1e-3),
    ]:
        m, s = mp.mpf(mean), mp.mpf(sd)
        kink = mp.mpf(0) if family == "yeo_johnson" else (-1 / mp.mpf(lam) if lam else m)
        ends = sorted({m - 30 * s, m - 8 * s, m - 2 * s, m, m + 2 * s, m + 8 * s, m + 30 * s, kink})
        ends = [end for end in ends if m - 30 * s <= end <= m + 30 * s]

        def expect(f):
            return mp.quad(lambda z: f(inverse(family, lam, z)) * mp.npdf(z, m, s), ends)

        first = expect(lambda y: y)
        second = expect(lambda y: (y - first) ** 2)
        cases.append(
            {
                "family": family,
                "lambda": lam,
                "mean": mean,
                "sd": sd,
                "of_y": [float(first), float(second)],
            }
        )
    return cases


print(json.dumps({"values": values(), "profiles": profiles(), "moments": moments()}, indent=1))
