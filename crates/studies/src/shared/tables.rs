//! The tables of the studies that compare methods: bundled, simulated, or files.

use bnn_mcmc::data::{Columns, CsvReader, Standardise, bundled, simulate};
use bnn_mcmc::prelude::*;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Data {
    Boston,
    Wine,
    Ionosphere,
    Digits,
    Regression,
    Classification,
    // The large tables of the FBNN paper, simulated.
    YearPrediction,
    Alzheimer,
    AlzheimerClasses,
    Simulation,
    SimulationClasses,
    Adult,
    Mnist,
    CelebA,
    Svhn,
}

/// The size of a table, and of its network.
struct Shape {
    rows: usize,
    features: usize,
    /// 0 for a real response.
    classes: usize,
    hidden: &'static [usize],
}

impl Data {
    /// Tables 1 and 2 of the paper (arXiv:2312.11799): hidden layers, which it does not state, that have about as many weights.
    fn shape(self) -> Option<Shape> {
        let (rows, features, classes, hidden): (_, _, _, &[usize]) = match self {
            Self::YearPrediction => (515_345, 90, 0, &[243, 243]), // 81,901 weights in the paper
            Self::Alzheimer => (185_831, 56, 0, &[155, 155]),      // 33,345
            Self::AlzheimerClasses => (185_831, 56, 2, &[155, 155]), // 33,345
            Self::Simulation => (5_000_000, 1000, 0, &[50, 53]),   // 52,832
            Self::SimulationClasses => (5_000_000, 1000, 2, &[50, 53]), // 52,832
            Self::Adult => (40_434, 14, 2, &[45, 45]),             // 2,761
            Self::Mnist => (70_000, 784, 10, &[5]),                // 3,961
            Self::CelebA => (202_599, 39, 2, &[23, 23]),           // 1,521
            Self::Svhn => (630_420, 3072, 10, &[55, 34]),          // 171,313
            _ => return None,
        };
        Some(Shape { rows, features, classes, hidden })
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct Tables {
    /// A bundled data set, or a simulated one; or one of the sizes of a large table of the FBNN paper, with a network of about as many weights.
    #[arg(long, default_value = "boston")]
    pub data: Data,
    /// The share of the rows of such a table.
    #[arg(long, default_value_t = 0.01)]
    pub share: f64,
    /// Training rows of your own: a CSV file with a header, the response in its last column. Needs
    /// --test.
    #[arg(long, requires = "test")]
    pub train: Option<String>,
    /// Test rows of your own.
    #[arg(long, requires = "train")]
    pub test: Option<String>,
    /// Whether the response of your own rows is a class.
    #[arg(long)]
    pub classes: bool,
    /// Rows of a simulated table, a fifth of which are test rows.
    #[arg(long, default_value_t = 10_000)]
    pub rows: usize,
    /// Features of a simulated table.
    #[arg(long, default_value_t = 20)]
    pub features: usize,
}

/// Test rows whose predictions are compared; the others are left out.
const TEST_ROWS: usize = 200;

impl Tables {
    /// Training rows and test rows, at most 200 of these, with features and a real response standardised by the
    /// training rows; prints what they are.
    pub fn scaled(&self, seed: u64) -> Result<(Dataset, Dataset), Error> {
        let (train, test) = self.read(seed)?;
        let test = test.select(&(0..test.rows().min(TEST_ROWS)).collect::<Vec<_>>())?;
        let features = Standardise::new().allow_constant().fit_features(&train)?;
        let (train, test) = (features.scale_features(&train)?, features.scale_features(&test)?);
        let (rows, columns) = (train.rows(), train.n_features());
        print!("{rows} training rows, {} test rows, {columns} features; ", test.rows());
        if train.response().class_names().is_some() {
            return Ok((train, test));
        }
        let response = Standardise::new().fit_response(&train)?;
        Ok((response.scale_response(&train)?, response.scale_response(&test)?))
    }

    /// The hidden layers: those of a table of the paper, or else `given`.
    pub fn hidden(&self, given: &[usize]) -> Vec<usize> {
        self.data.shape().map_or(given, |shape| shape.hidden).to_vec()
    }

    /// Training rows and test rows, a fifth of the table unless they are given.
    fn read(&self, seed: u64) -> Result<(Dataset, Dataset), Error> {
        if let (Some(train), Some(test)) = (&self.train, &self.test) {
            let last = Columns::Last;
            let reader = if self.classes {
                CsvReader::classification(last)
            } else {
                CsvReader::regression(last)
            };
            let train = reader.read_path(train)?;
            return Ok((train.dataset, train.schema.read_path(test)?.dataset));
        }
        let (rows, features, n_classes) = match self.data.shape() {
            None => (self.rows, self.features, 0),
            Some(Shape { rows, features, classes, .. }) => {
                ((self.share * rows as f64) as usize, features, classes)
            }
        };
        let regression = simulate::Regression { rows, features, ..Default::default() };
        let mut classes = simulate::Classification { rows, features, ..Default::default() };
        if n_classes > 2 {
            // 2^10 corners have room for the clusters of ten classes.
            (classes.classes, classes.informative, classes.redundant) = (n_classes, 10, 0);
        }
        let data = match self.data {
            Data::Boston => bundled::boston(),
            Data::Wine => bundled::wine_red(),
            Data::Ionosphere => bundled::ionosphere(),
            Data::Digits => bundled::digits(),
            Data::Regression => regression.draw(seed)?,
            Data::Classification => classes.draw(seed)?,
            _ if n_classes > 0 => classes.draw(seed)?,
            _ => regression.draw(seed)?,
        };
        if data.response().class_names().is_some() {
            data.stratified_split(0.2, seed)
        } else {
            data.train_test_split(0.2, seed)
        }
    }
}

/// A network for these rows with hidden layers of tanh units (one of 0 units is none), and its priors: normal of
/// standard deviation 1/sqrt(inputs) for the weights of each layer, and 1 for biases; prints its sizes.
pub fn network(train: &Dataset, hidden: &[usize]) -> Result<(Mlp, Priors), Error> {
    // One logit for two classes: of two, a common shift would be free.
    let outputs = match train.response().class_names().map(<[String]>::len) {
        None | Some(2) => 1,
        Some(classes) => classes,
    };
    let mut sizes = [&[train.n_features()], hidden, &[outputs]].concat();
    sizes.retain(|size| *size > 0);
    let network = Mlp::new(&sizes, Activation::Tanh)?;
    let mut priors = Priors::new().with("b*", Normal::new(0.0, 1.0)?);
    for (layer, inputs) in sizes[..sizes.len() - 1].iter().enumerate() {
        let sd = 1.0 / (*inputs as f64).sqrt();
        priors = priors.with(&format!("w{layer}"), Normal::new(0.0, sd)?);
    }
    println!("network {sizes:?}, {} weights", network.layout().dim());
    Ok((network, priors))
}
