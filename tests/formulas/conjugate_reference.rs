//! The exact posterior of linear regression against numbers computed with many more digits.
//!
//! The golden numbers come from the textbook's normal equations in 60-digit arithmetic (mpmath):
//! with X including the column of ones, v = prior_sd^2, p = beta e^-eta and A = p X^T X + I / v,
//!
//! ```text
//! E[w | eta] = p A^-1 X^T y,  Cov[w | eta] = A^-1
//! log p(y | eta) = -1/2 (beta N (log(2 pi) + eta) + log|A| + d log v + p y^T y - p^2 y^T X A^-1 X^T y)
//! ```
//!
//! and, where the noise is sampled, the trapezoid rule in eta with weights
//! p(y | eta) b^a / Gamma(a) e^(-a eta - b e^-eta), 1200 points over all but e^-60 of the mass (the
//! rule converges exponentially). All data are dyadic fractions, hence the same in Rust and Python.

use bnn_mcmc::prelude::*;
use bnn_mcmc::testing::{ConjugateRegression, NoiseVariance};
use ndarray::{Array1, Array2, array};

pub const SAMPLED: NoiseVariance = NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 };

pub const IMPROPER: NoiseVariance = NoiseVariance::InverseGamma { shape: 0.0, scale: 0.0 };

pub type Data = (Array2<f64>, Array1<f64>);

/// Exact in binary, in [-1, 1).
fn u(i: usize, j: usize) -> f64 {
    let i = i + 1;
    ((i * i * (31 + 12 * j) + i * (17 + j) + 5 * j) % 1024) as f64 / 512.0 - 1.0
}

/// x = centre +- scale, y = shift + slope x +- 1/2.
pub fn line(n: usize, centre: f64, scale: f64, slope: f64, shift: f64) -> Data {
    let x = Array2::from_shape_fn((n, 1), |(i, _)| centre + scale * u(i, 0));
    let y = Array1::from_shape_fn(n, |i| shift + slope * x[(i, 0)] + u(i, 1) / 2.0);
    (x, y)
}

/// 3 rows, 5 features.
pub fn wide() -> Data {
    (Array2::from_shape_fn((3, 5), |(i, j)| u(i, j)), Array1::from_shape_fn(3, |i| u(i, 6) + 1.0))
}

pub fn correlated() -> Data {
    let x = Array2::from_shape_fn((12, 3), |(i, j)| match j {
        2 => 0.75 * u(i, 1) + 0.5 * u(i, 2),
        _ => u(i, j),
    });
    let y = |i| 1.0 + 2.0 * x[(i, 0)] - x[(i, 1)] + 0.5 * x[(i, 2)] + u(i, 3) / 2.0;
    let y = Array1::from_shape_fn(12, y);
    (x, y)
}

/// The third feature is the first minus twice the second; y as for [`correlated`].
fn collinear() -> Data {
    let (mut x, y) = correlated();
    for mut row in x.rows_mut() {
        row[2] = row[0] - 2.0 * row[1];
    }
    (x, y)
}

struct Golden {
    what: &'static str,
    log_evidence: Option<f64>,
    mean: &'static [f64],
    /// The lower triangle, row by row.
    covariance: &'static [f64],
}

impl Golden {
    /// Errors are relative: of the evidence to its size, of means to posterior standard deviations
    /// (beyond four rounding units of the mean), of covariances to the product of two standard
    /// deviations.
    fn check(&self, (x, y): &Data, prior_sd: f64, noise: NoiseVariance, beta: f64) {
        let exact = ConjugateRegression::new(x.view(), y.view(), prior_sd, noise)
            .and_then(|exact| exact.tempered(beta))
            .unwrap_or_else(|e| panic!("{}: {e}", self.what));
        let (mean, covariance) = (exact.mean(), exact.covariance());
        let mut errors = [0.0f64; 3];
        match self.log_evidence {
            Some(e) => errors[0] = (exact.log_evidence().unwrap() - e).abs() / e.abs().max(1.0),
            None => assert!(exact.log_evidence().is_err()),
        }
        assert_eq!((mean.len(), exact.dim()), (self.mean.len(), self.mean.len()));
        let at = |i: usize, j: usize| self.covariance[i * (i + 1) / 2 + j];
        for i in 0..mean.len() {
            let error = (mean[i] - self.mean[i]).abs() - 4.0 * f64::EPSILON * self.mean[i].abs();
            errors[1] = errors[1].max(error / at(i, i).sqrt());
            for j in 0..=i {
                let scale = (at(i, i) * at(j, j)).sqrt();
                errors[2] = errors[2].max((covariance[(i, j)] - at(i, j)).abs() / scale);
                assert_eq!(covariance[(i, j)], covariance[(j, i)]);
            }
        }
        let [evidence, mean, covariance] = errors;
        println!("{:26} {evidence:8.1e} {mean:8.1e} {covariance:8.1e}", self.what);
        assert!(errors.iter().all(|e| *e < 2e-8), "{}: {errors:?}", self.what);
    }
}

/// Large means of y, under priors wide enough for them.
#[test]
fn shifted_responses() {
    Golden {
        what: "shift 1e3 sampled",
        log_evidence: Some(-22.3341969127081),
        mean: &[1.8810876214191474, 999.8721743591987, -2.2591061238809824],
        covariance: &[
            0.020398294427633426,
            0.007402349773195521,
            0.00817161235479267,
            -7.439774467876649e-07,
            -8.184492226118334e-07,
            0.09516633547796109,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e3), 1e3, SAMPLED, 1.0);
    Golden {
        what: "shift 1e3 fixed",
        log_evidence: Some(-19.633086516369257),
        mean: &[1.881090822774169, 999.8721778810077],
        covariance: &[0.011620853605422898, 0.004217098814726985, 0.00465534561001508],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e3), 1e3, NoiseVariance::Fixed(0.25), 1.0);
    Golden {
        what: "shift 1e3 improper",
        log_evidence: None,
        mean: &[1.8810899998950674, 999.8721769757589, -2.6563560104615225],
        covariance: &[
            0.013877014692326606,
            0.005035838516053517,
            0.005559169899747806,
            -6.326623360822255e-07,
            -6.959915177234247e-07,
            0.11751201447747762,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e3), 1e3, IMPROPER, 1.0);
    Golden {
        what: "shift 1e5 sampled",
        log_evidence: Some(-31.544662036530593),
        mean: &[1.8810949871666527, 99999.87218246197, -2.259106122862461],
        covariance: &[
            0.02039829496772203,
            0.007402350009766941,
            0.008171612491662573,
            -7.402724259562104e-09,
            -8.171741292138086e-09,
            0.09516633568166535,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e5), 1e5, SAMPLED, 1.0);
    Golden {
        what: "shift 1e5 fixed",
        log_evidence: Some(-28.843551644574475),
        mean: &[1.8810950190207743, 99999.87218249714],
        covariance: &[0.011620853758235778, 0.004217098883358463, 0.0046553456494673],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e5), 1e5, NoiseVariance::Fixed(0.25), 1.0);
    Golden {
        what: "shift 1e5 improper",
        log_evidence: None,
        mean: &[1.881095010832963, 99999.87218248809, -2.656356009595394],
        covariance: &[
            0.013877014951443082,
            0.005035838628861646,
            0.005559169965117546,
            -6.295116540011807e-09,
            -6.949071985538337e-09,
            0.11751201469400974,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e5), 1e5, IMPROPER, 1.0);
    Golden {
        what: "shift 1e7 sampled",
        log_evidence: Some(-40.75500367372085),
        mean: &[1.8810950604536598, 9999999.872182542, -2.2591061228623595],
        covariance: &[
            0.020398294967776048,
            0.0074023500097906035,
            0.008171612491676264,
            -7.402353752288838e-11,
            -8.171613779681193e-11,
            0.09516633568168574,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e7), 1e7, SAMPLED, 1.0);
    Golden {
        what: "shift 1e7 fixed",
        log_evidence: Some(-38.05389328176517),
        mean: &[1.881095060772185, 9999999.872182542],
        covariance: &[0.01162085375825106, 0.004217098883365326, 0.004655345649471245],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e7), 1e7, NoiseVariance::Fixed(0.25), 1.0);
    Golden {
        what: "shift 1e7 improper",
        log_evidence: None,
        mean: &[1.8810950606903112, 9999999.872182542, -2.6563560095953074],
        covariance: &[
            0.013877014951469,
            0.00503583862887293,
            0.005559169965124085,
            -6.294801468630686e-11,
            -6.948963551696631e-11,
            0.11751201469403143,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e7), 1e7, IMPROPER, 1.0);
}

/// x = 2000 +- 10, condition number 7e5; with a large mean of y too.
#[test]
fn features_far_from_zero() {
    Golden {
        what: "x 2000 sampled",
        log_evidence: Some(-19.596495568632122),
        mean: &[0.4889905590961381, 21.894249742066172, -2.2626109627725266],
        covariance: &[
            0.00018665435832212188,
            -0.37263114267629216,
            743.9150612476357,
            7.965124028462342e-05,
            -0.15901450660877448,
            0.09450192250279657,
        ],
    }
    .check(&line(20, 2000.0, 10.0, 0.5, 0.0), 100.0, SAMPLED, 1.0);
    Golden {
        what: "x 2000 fixed",
        log_evidence: Some(-16.88001209841686),
        mean: &[0.48863395316165287, 22.606172325105934],
        covariance: &[0.00011106459409485172, -0.2217260759006402, 442.6505153303705],
    }
    .check(&line(20, 2000.0, 10.0, 0.5, 0.0), 100.0, NoiseVariance::Fixed(0.25), 1.0);
    Golden {
        what: "x 2000 shift 1e7 sampled",
        log_evidence: Some(-43.05759114481645),
        mean: &[0.48810954684205227, 10000023.653089007, -2.2591061228623595],
        covariance: &[
            0.00020398294967610218,
            -0.4072256643512313,
            812.9790303130081,
            4.0722662755461875e-09,
            -8.129809532373829e-06,
            0.09516633568168574,
        ],
    }
    .check(&line(20, 2000.0, 10.0, 0.5, 1e7), 1e7, SAMPLED, 1.0);
    Golden {
        what: "x 5000 sampled",
        log_evidence: Some(-19.5522225699186),
        mean: &[0.4974498044464212, 12.66537809871455, -2.272076784397021],
        covariance: &[
            0.0003920673133021781,
            -1.960193229458816,
            9800.254916980177,
            0.0002158931168065907,
            -1.0793872500621549,
            0.09096705259835025,
        ],
    }
    .check(&line(20, 5000.0, 1.0, 0.5, 0.0), 100.0, SAMPLED, 1.0);
    Golden {
        what: "x 5000 shift 1e7 sampled",
        log_evidence: Some(-40.75506312795647),
        mean: &[0.38110526020727636, 10000594.345885208, -2.259106122862329],
        covariance: &[
            0.020398294863770598,
            -101.98407196888093,
            509883.3562661569,
            1.0199013316969337e-06,
            -0.005099136600709921,
            0.0951663356816918,
        ],
    }
    .check(&line(20, 5000.0, 1.0, 0.5, 1e7), 1e7, SAMPLED, 1.0);
    Golden {
        what: "x 10000 sampled",
        log_evidence: Some(-22.6201638674008),
        mean: &[0.4587454122880355, 412.4462361595802, -2.2757948786756184],
        covariance: &[
            0.006594197591797553,
            -65.93958258422225,
            659371.8987591525,
            0.002399544352212037,
            -23.994572814499943,
            0.09216500216404569,
        ],
    }
    .check(&line(20, 10000.0, 1.0, 0.5, 0.0), 1000.0, SAMPLED, 1.0);
}

/// The prior forbids what the data say: all of y is noise.
#[test]
fn data_in_conflict_with_the_prior() {
    Golden {
        what: "conflict sampled",
        log_evidence: Some(-195.66012235966105),
        mean: &[-0.00870445273571727, 0.024020114913394067, 13.673758221143151],
        covariance: &[
            0.9999966834399203,
            -8.69968982017027e-06,
            1.000024040895274,
            0.0007253860695497242,
            -0.0020017306754367345,
            0.08690640586513973,
        ],
    }
    .check(&line(20, 0.0, 1.0, 2.0, 1e3), 1.0, SAMPLED, 1.0);
}

#[test]
fn few_rows() {
    Golden {
        what: "n=3 sampled",
        log_evidence: Some(-3.9145906310335503),
        mean: &[1.4361746605216321, 0.3598138752691075, -1.3435183323556112],
        covariance: &[
            0.9568454483597957,
            0.5904975728938574,
            0.4691154595311207,
            -0.2504647322697063,
            -0.15829888410329157,
            0.4627973360916663,
        ],
    }
    .check(&line(3, 0.0, 1.0, 2.0, 1.0), 1.5, SAMPLED, 1.0);
    Golden {
        what: "n<d sampled",
        log_evidence: Some(-4.993806176544976),
        mean: &[
            -0.1255563224091328,
            -0.10987538500205651,
            -0.09419444759498022,
            -0.07851351018790392,
            -0.06283257278082763,
            0.19851378852594737,
            -1.1113505300872193,
        ],
        covariance: &[
            1.7805244685198538,
            -0.38419452260536346,
            1.882759897696333,
            -0.2989135137305807,
            -0.35028568200197074,
            1.8483421497266392,
            -0.213632504855798,
            -0.3333312617002744,
            -0.4530300185447508,
            1.6772712246107728,
            -0.12835149598101528,
            -0.3163768413985781,
            -0.5044021868161408,
            -0.6924275322337036,
            1.3695471223487337,
            0.7111216106661198,
            0.4308925123644801,
            0.1506634140628405,
            -0.12956568423879913,
            -0.4097947825404388,
            0.7407373871001365,
            -0.0015495175692549967,
            -0.0005156147564802018,
            0.000518288056294593,
            0.0015521908690693878,
            0.0025860936818441825,
            -0.006338815474838225,
            0.45182960212374546,
        ],
    }
    .check(&wide(), 1.5, SAMPLED, 1.0);
    Golden {
        what: "n<d fixed",
        log_evidence: Some(-6.428609280925619),
        mean: &[
            -0.09757039478457837,
            -0.09407796025046364,
            -0.09058552571634892,
            -0.08709309118223421,
            -0.0836006566481195,
            0.23072712326362543,
        ],
        covariance: &[
            1.768187241351983,
            -0.39196034471845137,
            1.873245608016206,
            -0.30210793078888565,
            -0.3615484392491365,
            1.8290110522906127,
            -0.21225551685931993,
            -0.3463424865144791,
            -0.4804294561696383,
            1.6354835741752025,
            -0.1224031029297542,
            -0.33113653377982166,
            -0.5398699646298891,
            -0.7486033954799566,
            1.2926631736699759,
            0.7357804942859216,
            0.4332250522792536,
            0.1306696102725856,
            -0.17188583173408237,
            -0.47444127374075035,
            0.6516564263233295,
        ],
    }
    .check(&wide(), 1.5, NoiseVariance::Fixed(0.25), 1.0);
    Golden {
        what: "n<d tempered .25",
        log_evidence: Some(-2.3380613261384178),
        mean: &[
            -0.11825673807063265,
            -0.10234567646524444,
            -0.08643461485985621,
            -0.07052355325446799,
            -0.05461249164907977,
            0.16895009039747155,
            -0.7916364028347245,
        ],
        covariance: &[
            1.8342332350802728,
            -0.34585966756159364,
            1.9246584703382243,
            -0.2759525702034601,
            -0.30482339176195755,
            1.916305786679545,
            -0.20604547284532657,
            -0.2843052538621395,
            -0.3625650348789525,
            1.8091751841042345,
            -0.13613837548719301,
            -0.26378711596232146,
            -0.39143585643744994,
            -0.5190845969125785,
            1.6032666626122931,
            0.6137413554231257,
            0.40294375617646594,
            0.1921461569298062,
            -0.018651442316853593,
            -0.22944904156351337,
            1.0362661350719977,
            0.010612063046701656,
            0.009043909144478281,
            0.007475755242254907,
            0.005907601340031533,
            0.0043394474378081575,
            -0.018178941409883322,
            0.688218895459803,
        ],
    }
    .check(&wide(), 1.5, SAMPLED, 0.25);
}

#[test]
fn correlated_and_collinear_features() {
    Golden {
        what: "correlated improper",
        log_evidence: None,
        mean: &[
            2.023753043824475,
            -1.0166120405017145,
            0.501201622207106,
            0.9344372265511927,
            -2.4515435657270026,
        ],
        covariance: &[
            0.044246436597961424,
            0.05271929353860198,
            0.17372121292711135,
            -0.04919514600189627,
            -0.14579163497499262,
            0.15665825531340002,
            0.012861931125918186,
            0.02839675856089472,
            -0.02058080166046804,
            0.014091888209253832,
            -0.0020081727343477878,
            0.008729722971677921,
            -0.008082775962426285,
            -7.989408459657693e-05,
            0.2759383299855771,
        ],
    }
    .check(&correlated(), 2.0, IMPROPER, 1.0);
    Golden {
        what: "correlated sampled",
        log_evidence: Some(-12.058545374509313),
        mean: &[
            2.0202268672591766,
            -1.0001646292148143,
            0.48596357279369595,
            0.9343649016124719,
            -1.9333559771135798,
        ],
        covariance: &[
            0.06865522941157914,
            0.07980631939190773,
            0.26433399320177714,
            -0.07445605246656706,
            -0.22081279825444425,
            0.23856655863256931,
            0.019736079088481434,
            0.04322002033585109,
            -0.03097938128140317,
            0.022013056015522614,
            -0.00209202492635276,
            0.007840694802661115,
            -0.00725052484104763,
            -0.00015865972845169923,
            0.1769312075813751,
        ],
    }
    .check(&correlated(), 2.0, SAMPLED, 1.0);
    Golden {
        what: "correlated tempered",
        log_evidence: Some(-6.913329759677284),
        mean: &[
            1.8323541998864858,
            -0.788297565988066,
            0.29783271436541925,
            0.8885062570286376,
            -0.9042784982066634,
        ],
        covariance: &[
            0.6101996328878906,
            0.3028563972894207,
            1.345804059847945,
            -0.28527611148772214,
            -0.9344364246183594,
            1.2454943893923058,
            0.1329930655078677,
            0.2095301288180142,
            -0.09235106623439576,
            0.22811102179614873,
            -0.13349707676704256,
            0.07757967584135557,
            -0.06285253251609275,
            -0.038711221627310624,
            0.5934340076407876,
        ],
    }
    .check(&correlated(), 2.0, SAMPLED, 0.25);
    Golden {
        what: "collinear sampled",
        log_evidence: Some(-11.857108159511316),
        mean: &[
            1.6251507834881298,
            0.537227392634621,
            0.5506959982188877,
            0.9952727623303905,
            -1.9132249004508946,
        ],
        covariance: &[
            0.7116126039512717,
            -1.3094221729401267,
            2.681062669878746,
            -0.6695430501684746,
            1.3284524873023813,
            0.6735519752267627,
            0.01347156248062733,
            0.008368826825449295,
            -0.003266091170271259,
            0.01827986492800424,
            -0.00438708602339613,
            -0.0023444260175428107,
            0.0003017660116894922,
            -0.0019218126192513002,
            0.16605318574207728,
        ],
    }
    .check(&collinear(), 2.0, SAMPLED, 1.0);
}

/// An intercept alone, (w, eta): every moment from a brute-force sum over a grid of the plane.
#[test]
fn tempering_matches_a_brute_force_grid() {
    let (x, y) = (Array2::zeros((5, 0)), array![0.5, 1.25, -0.25, 0.75, 2.0]);
    let (a, b, sd): (f64, f64, f64) = (2.0, 0.5, 1.5);
    let exact = ConjugateRegression::new(x.view(), y.view(), sd, SAMPLED).unwrap();
    for beta in [0.0, 0.1, 0.5, 1.0] {
        let tempered = exact.tempered(beta).unwrap();
        let log_density = |w: f64, eta: f64| {
            let squares: f64 = y.iter().map(|y| (y - w).powi(2)).sum();
            let log_lik = -2.5 * (std::f64::consts::TAU.ln() + eta) - 0.5 * squares * (-eta).exp();
            let normal = -0.5 * (std::f64::consts::TAU * sd * sd).ln() - 0.5 * (w / sd).powi(2);
            // log Gamma(2) = 0.
            beta * log_lik + normal + a * b.ln() - a * eta - b * (-eta).exp()
        };
        let (h_w, h_eta) = (0.03, 0.03);
        let mut sums = [0.0; 6];
        for i in -500..=500 {
            for j in -200..=700 {
                let (w, eta) = (h_w * f64::from(i), h_eta * f64::from(j));
                let p = log_density(w, eta).exp() * h_w * h_eta;
                for (sum, term) in sums.iter_mut().zip([1.0, w, eta, w * w, w * eta, eta * eta]) {
                    *sum += p * term;
                }
            }
        }
        let [z, w, eta, ww, we, ee] = sums;
        let (w, eta) = (w / z, eta / z);
        let (mean, covariance) = (tempered.mean(), tempered.covariance());
        let found = [mean[0], mean[1], covariance[(0, 0)], covariance[(0, 1)], covariance[(1, 1)]];
        let expected = [w, eta, ww / z - w * w, we / z - w * eta, ee / z - eta * eta];
        approx::assert_abs_diff_eq!(tempered.log_evidence().unwrap(), z.ln(), epsilon = 1e-9);
        for (found, expected) in found.into_iter().zip(expected) {
            approx::assert_abs_diff_eq!(found, expected, epsilon = 1e-9);
        }
    }
}

/// At beta = 0: w ~ N(0, v), eta the logarithm of an inverse-gamma variable, for which
/// E eta = log b - digamma(a), Var eta = trigamma(a), here log 0.5 - (1 - gamma) and pi^2/6 - 1.
#[test]
fn at_temperature_zero_the_posterior_is_the_prior() {
    let (x, y) = wide();
    let exact = ConjugateRegression::new(x.view(), y.view(), 1.5, SAMPLED).unwrap();
    let prior = exact.tempered(0.0).unwrap();
    assert!(prior.log_evidence().unwrap().abs() < 1e-12);
    let (mean, covariance) = (prior.mean(), prior.covariance());
    let mut expected = Array2::eye(7) * 2.25;
    expected[(6, 6)] = std::f64::consts::PI.powi(2) / 6.0 - 1.0;
    approx::assert_abs_diff_eq!(covariance, expected, epsilon = 1e-10);
    assert!(mean[..6].iter().all(|m| m.abs() < 1e-12));
    let euler = 0.577_215_664_901_532_9;
    approx::assert_abs_diff_eq!(mean[6], 0.5f64.ln() - 1.0 + euler, epsilon = 1e-10);
    // And back.
    assert_eq!(prior.tempered(1.0).unwrap().mean(), exact.mean());
    let fixed =
        ConjugateRegression::new(x.view(), y.view(), 1.5, NoiseVariance::Fixed(0.3)).unwrap();
    assert_eq!(fixed.tempered(0.0).unwrap().log_evidence().unwrap(), 0.0);
    assert_eq!(fixed.tempered(0.0).unwrap().dim(), 6);
}

/// Two explanations of y: the prior is taken at its word and all is noise, or it is not. Both modes
/// count: the evidence is that of the sum over a much wider, plain grid.
#[test]
fn two_modes_of_the_noise() {
    let y = Array1::from_shape_fn(40, |i| 3.0 + 0.01 * u(i, 1));
    let x = Array2::zeros((40, 0));
    for sd in [0.18, 0.188, 0.19, 0.192, 0.2] {
        let exact = ConjugateRegression::new(x.view(), y.view(), sd, SAMPLED).unwrap();
        let (mean_y, n) = (y.mean().unwrap(), 40.0);
        let squares: f64 = y.iter().map(|y| (y - mean_y).powi(2)).sum();
        let h = 1e-4;
        let sum: f64 = (-200_000..200_000)
            .map(|i| {
                let eta = h * f64::from(i);
                let tau2 = eta.exp();
                let log_marginal = -0.5 * n * std::f64::consts::TAU.ln()
                    - 0.5 * (n - 1.0) * eta
                    - 0.5 * (tau2 + n * sd * sd).ln()
                    - 0.5 * (squares / tau2 + n * mean_y * mean_y / (tau2 + n * sd * sd));
                (log_marginal + 2.0 * 0.5f64.ln() - 2.0 * eta - 0.5 / tau2).exp()
            })
            .sum();
        let log_evidence = exact.log_evidence().unwrap();
        approx::assert_abs_diff_eq!(log_evidence, (sum * h).ln(), epsilon = 1e-9);
    }
}

/// The draws have the moments, off the diagonal too; 5 standard errors.
#[test]
fn draws_have_the_moments() {
    let n = 200_000;
    for (data, noise, beta) in [
        (wide(), SAMPLED, 1.0),
        (correlated(), SAMPLED, 0.3),
        (correlated(), IMPROPER, 1.0),
        (collinear(), NoiseVariance::Fixed(0.4), 1.0),
    ] {
        let exact = ConjugateRegression::new(data.0.view(), data.1.view(), 1.5, noise);
        let exact = exact.unwrap().tempered(beta).unwrap();
        let (mean, covariance) = (exact.mean(), exact.covariance());
        let mut rng = ChainRng::new(3, 0);
        let mut draws = Array2::zeros((n, exact.dim()));
        for mut row in draws.rows_mut() {
            exact.draw(&mut rng, row.as_slice_mut().unwrap());
        }
        let limit = |sd: f64| 5.0 * sd / (n as f64).sqrt();
        for i in 0..exact.dim() {
            let from_mean = &draws.column(i) - mean[i];
            assert!(from_mean.mean().unwrap().abs() < limit(covariance[(i, i)].sqrt()));
            for j in 0..=i {
                let product = &from_mean * &(&draws.column(j) - mean[j]);
                let error = product.mean().unwrap() - covariance[(i, j)];
                assert!(error.abs() < limit(product.std(1.0)), "({i}, {j}): off by {error}");
            }
        }
    }
}
