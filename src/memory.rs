//! Limits on the size of a result, checked before anything is allocated for it.
//!
//! Systems hand out more memory than they have, and end the process that then uses it: an allocation
//! that succeeds proves nothing. So the size of whatever grows with draws times rows or draws times
//! parameters is worked out first, summed over all chains, and refused by an [`Error`] if it exceeds
//! the [`limit`]. The error has the numbers, and names a way that takes less.
//!
//! The limit is nine tenths of the memory that is left when it is asked for. On Linux that is
//! `MemAvailable` of `/proc/meminfo` (which counts the memory that the file cache would give back),
//! or less if a control group of the process, of version 1 or 2, or one that encloses it, has less
//! left, as in containers and batch systems. On other systems, or where these files cannot be read,
//! the limit is 16 GiB. [`set_limit`] sets it by hand. Without it the system is not asked for results of at most 64 KiB.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use crate::Error;
use crate::message::Advice;

/// The limit where the system does not tell how much memory is left.
const DEFAULT_LIMIT: u64 = 16 << 30;

/// The most bytes for which the system is not asked: reading its files takes longer than to fill them.
const SMALL: u128 = 1 << 16;

/// The message about a size that the allocator refuses.
const REFUSED: &str = "more than the system gives";

/// The argument of the latest [`set_limit`].
static LIMIT: Mutex<Option<u64>> = Mutex::new(None);

/// The largest result that is computed now, in bytes: the argument of [`set_limit`], or else the
/// default of the [module](self).
pub fn limit() -> u64 {
    let left = || available(Path::new("/proc"), Path::new("/sys/fs/cgroup"));
    limit_set().unwrap_or_else(|| left().map_or(DEFAULT_LIMIT, |left| left / 10 * 9))
}

/// The argument of the latest [`set_limit`].
fn limit_set() -> Option<u64> {
    *LIMIT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sets the largest size of a single result, in bytes, for the whole process; `None` asks the system
/// again each time.
///
/// ```
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::{memory, testing::GaussianTarget};
/// let target = GaussianTarget::standard(3)?;
/// let sampler = || Sampler::new(&target, Nuts::default()).chains(2).draws(1000);
/// memory::set_limit(Some(100_000));
/// let error = sampler().run().unwrap_err().to_string();
/// assert!(error.contains("more than the 0.1 MB"), "{error}");
/// memory::set_limit(None);
/// assert!(sampler().run().is_ok());
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
pub fn set_limit(bytes: Option<u64>) {
    *LIMIT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = bytes;
}

/// Checks that as many values of type `N` as the product of `size` fit into memory, where `size`
/// has numbers with their meaning. `instead` is advice that takes less memory.
///
/// ```
/// let size = [(1_000_000, "rows"), (1_000_000, "columns")];
/// let checked = bnn_mcmc::memory::check::<f64>("kernel matrix", &size, "use fewer rows");
/// let error = checked.unwrap_err().to_string();
/// assert!(error.starts_with("`kernel matrix` is too large: 1000000 rows x 1000000 columns x 8 bytes"));
/// ```
///
/// # Errors
/// [`Error::Memory`], with the numbers, if they do not fit.
pub fn check<N>(
    name: &str,
    size: &[(usize, &str)],
    instead: impl Into<Advice>,
) -> Result<(), Error> {
    check_bytes(name, size, size_of::<N>(), instead.into())
}

fn check_bytes(
    name: &str,
    size: &[(usize, &str)],
    each: usize,
    instead: Advice,
) -> Result<(), Error> {
    let bytes = bytes_of(size, each);
    if bytes <= SMALL && limit_set().is_none() {
        return Ok(());
    }
    let limit = limit();
    let problem = if bytes > u128::from(limit) {
        format!("more than the {} that memory has left or is allowed", megabytes(limit.into()))
    } else if !usize::try_from(bytes).is_ok_and(|n| Vec::<u8>::new().try_reserve_exact(n).is_ok()) {
        // Limits on address space, and 32-bit systems.
        REFUSED.to_string()
    } else {
        return Ok(());
    };
    Err(too_large(name, size, each, &problem, instead))
}

/// Room for `n` numbers of a size that was [checked](check); limits on address space may still
/// refuse it.
pub(crate) fn room<N>(
    n: usize,
    (name, size, instead): (&str, &[(usize, &str)], &'static str),
) -> Result<Vec<N>, Error> {
    let mut room = Vec::new();
    match room.try_reserve_exact(n) {
        Ok(()) => Ok(room),
        Err(_) => Err(too_large(name, size, size_of::<N>(), REFUSED, instead.into())),
    }
}

/// The bytes of a product of numbers of `each` bytes.
fn bytes_of(size: &[(usize, &str)], each: usize) -> u128 {
    let factors = size.iter().map(|(n, _)| *n as u128);
    factors.fold(each as u128, u128::saturating_mul)
}

fn too_large(
    name: &str,
    size: &[(usize, &str)],
    each: usize,
    problem: &str,
    instead: Advice,
) -> Error {
    let factor = |(n, what): &(usize, &str)| match n {
        1 => format!("1 {}", what.strip_suffix('s').unwrap_or(what)),
        n => format!("{n} {what}"),
    };
    let product: Vec<_> = size.iter().map(factor).collect();
    let (product, bytes) = (product.join(" x "), megabytes(bytes_of(size, each)));
    let size = format!("{product} x {each} bytes = {bytes}, {problem}");
    Error::Memory { name: name.into(), setting: None, size, advice: vec![instead] }
}

/// `1.5 MB`, `96.0 GB`.
fn megabytes(bytes: u128) -> String {
    match bytes as f64 {
        bytes if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

/// The bytes that are left to this process by the files under `proc` and `cgroup`.
fn available(proc: &Path, cgroup: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(proc.join("meminfo")).ok()?;
    let mut left = field(&meminfo, "MemAvailable:")?.saturating_mul(1024);
    // Lines are `number:controllers:path`; version 2 has no controllers.
    let groups = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, files) = match controllers {
            "" => (cgroup.to_path_buf(), ["memory.max", "memory.current", "inactive_file"]),
            all if all.split(',').any(|controller| controller == "memory") => (
                cgroup.join("memory"),
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            ),
            _ => continue,
        };
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            left = left.min(left_in(&root.join(folder), files).unwrap_or(u64::MAX));
        }
    }
    Some(left)
}

/// The memory that a control group has left: its limit less the memory in use, not counting cached
/// files that nobody reads. `None` without a limit.
fn left_in(folder: &Path, [limit, used, inactive]: [&str; 3]) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(used)?);
    let inactive = read("memory.stat").and_then(|stat| field(&stat, inactive)).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(inactive)))
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines
        .find_map(|mut words| if words.next() == Some(name) { words.next() } else { None })?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A system with 8 GiB left, whose control groups are these files.
    fn left(groups: &str, files: &[(&str, u64)]) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: String, text: String| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("meminfo".into(), "MemTotal: 16777216 kB\nMemAvailable:  8388608 kB\n".into());
        write("self/cgroup".into(), groups.into());
        for (name, bytes) in files {
            let is_stat = name.ends_with("memory.stat");
            let stat = || format!("inactive_file {bytes}\ntotal_inactive_file {bytes}\n");
            let text = if is_stat { stat() } else { format!("{bytes}\n") };
            write(format!("cgroup/{name}"), text);
        }
        available(folder.path(), &folder.path().join("cgroup"))
    }

    #[test]
    fn the_least_of_system_and_control_groups_counts() {
        assert_eq!(left("", &[]), Some(8 * GIB));
        assert_eq!(left("0::/\n", &[("memory.current", GIB)]), Some(8 * GIB));
        // A limit far away, as version 1 has it without one.
        let unlimited = ("memory/memory.limit_in_bytes", 9_223_372_036_854_771_712);
        let used = ("memory/memory.usage_in_bytes", GIB);
        assert_eq!(left("4:cpu,memory:/a\n", &[unlimited, used]), Some(8 * GIB));
        let limit = ("memory/a/memory.limit_in_bytes", 3 * GIB);
        let used = ("memory/a/memory.usage_in_bytes", GIB);
        assert_eq!(left("4:cpu,memory:/a\n", &[limit, used]), Some(2 * GIB));
        let cached = ("memory/a/memory.stat", GIB / 2);
        assert_eq!(left("4:memory:/a\n", &[limit, used, cached]), Some(5 * GIB / 2));
        // The group that encloses the process's own.
        let outer = [("slice/memory.max", 2 * GIB), ("slice/memory.current", GIB)];
        assert_eq!(left("1:cpu:/b\n0::/slice/job\n", &outer), Some(GIB));
        assert_eq!(available(Path::new("/no such folder"), Path::new("/")), None);
    }

    #[test]
    fn errors_have_the_numbers() {
        let size = [(usize::MAX, "chains"), (usize::MAX, "draws")];
        let Err(Error::Memory { name, size, advice, .. }) =
            check::<f64>("draws", &size, "take fewer")
        else {
            panic!("accepted")
        };
        assert_eq!((&name[..], &advice[..]), ("draws", &["take fewer".into()][..]));
        let factors = format!("{0} chains x {0} draws x 8 bytes = ", usize::MAX);
        assert!(size.starts_with(&factors), "{size}");
        assert!(size.ends_with(" that memory has left or is allowed"), "{size}");
        assert_eq!([96e9 as u128, 1_500_000].map(megabytes), ["96.0 GB", "1.5 MB"]);
        assert!(check::<f64>("draws", &[(1, "chain"), (1000, "draws")], "").is_ok());
    }
}
