//! The tables of the examples that compare methods: bundled, simulated, or files.

use bnn_mcmc::data::{Columns, CsvReader, bundled, simulate};
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
}

#[derive(clap::Args, Clone, Debug)]
pub struct Tables {
    /// A bundled data set, or a simulated one.
    #[arg(long, default_value = "boston")]
    pub data: Data,
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

impl Tables {
    /// Training rows and test rows, a fifth of the table unless they are given.
    pub fn read(&self, seed: u64) -> Result<(Dataset, Dataset), Error> {
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
        let (rows, features) = (self.rows, self.features);
        let regression = simulate::Regression { rows, features, ..Default::default() };
        let classes = simulate::Classification { rows, features, ..Default::default() };
        let data = match self.data {
            Data::Boston => bundled::boston(),
            Data::Wine => bundled::wine_red(),
            Data::Ionosphere => bundled::ionosphere(),
            Data::Digits => bundled::digits(),
            Data::Regression => regression.draw(seed)?,
            Data::Classification => classes.draw(seed)?,
        };
        if data.response().class_names().is_some() {
            data.stratified_split(0.2, seed)
        } else {
            data.train_test_split(0.2, seed)
        }
    }
}

/// Normal priors of standard deviation 1/sqrt(inputs) for the weights of each layer of these sizes,
/// and 1 for biases.
pub fn priors(sizes: &[usize]) -> Result<Priors, Error> {
    let mut priors = Priors::new().with("b*", Normal::new(0.0, 1.0)?);
    for (layer, inputs) in sizes[..sizes.len() - 1].iter().enumerate() {
        let sd = 1.0 / (*inputs as f64).sqrt();
        priors = priors.with(&format!("w{layer}"), Normal::new(0.0, sd)?);
    }
    Ok(priors)
}
