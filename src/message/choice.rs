//! Settings that take one of a few values.

/// A setting that takes one of a few values, each with a name and a line of help.
///
/// Every face lists and reads the values by this list: flags and files of settings, parameters of Python.
/// `Display` writes the name, `FromStr` reads it, with `-` for `_` and in capitals or small letters; the error lists
/// all names.
///
/// ```
/// use bnn_mcmc::fit::Noise;
/// use bnn_mcmc::message::Choice;
/// let names: Vec<&str> = Noise::ALL.iter().map(|noise| noise.name()).collect();
/// assert_eq!(names[2], "student_t");
/// assert_eq!("student-t".parse::<Noise>()?, Noise::StudentT);
/// assert!("cauchy".parse::<Noise>().unwrap_err().to_string().contains("`gaussian`"));
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub trait Choice: Copy + 'static {
    /// The kind of the values, in words: the error about an unknown name calls them by it.
    const KIND: &'static str;

    /// All values, in the order in which they are listed. A value with a number in it has its default number.
    const ALL: &'static [Self];

    /// The name, as in `fit.json`: words in small letters, with `_` between them.
    fn name(self) -> &'static str;

    /// The help on the value, in one line without a full stop.
    fn help(self) -> &'static str;

    /// The value of this name.
    fn named(name: &str) -> Option<Self> {
        let name = name.replace('-', "_").to_lowercase();
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }

    /// The names of all values.
    fn names() -> Vec<String> {
        Self::ALL.iter().map(|choice| choice.name().to_string()).collect()
    }
}
