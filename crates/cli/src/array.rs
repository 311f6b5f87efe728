//! `array`: the scripts that run each chain of a fit as a job of its own on a cluster.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bnn_mcmc::fit::{Fit, Forecast};
use bnn_mcmc::message::duration;
use bnn_mcmc::sampler::StopHandle;
use clap::{Args, Parser, ValueEnum};

use crate::config::{Config, whole};
use crate::fit::looked_at;
use crate::output::{self, count, quoted};
use crate::{Cli, Command, Ended, Failure, file};

/// Writes the scripts that run each chain of a fit as a job of its own, and merge them
///
/// They are written beside the folder of the run, and run where this command is run. All flags of `fit` hold. The
/// table is tried as by `check`, and short chains say how much time and memory a job takes.
#[derive(Args)]
pub struct ArrayArgs {
    #[command(flatten)]
    config: Config,
    /// A file of settings, such as the config.toml of another run. Flags come before it
    #[arg(long = "config", value_name = "FILE", help_heading = "Run")]
    file: Option<PathBuf>,
    /// The folder of the run, which all jobs share. The scripts have its name: run.sbatch, run.parallel.sh or
    /// run.yaml with run.merge.yaml
    #[arg(long, short, value_name = "FOLDER", help_heading = "Run")]
    out: PathBuf,
    /// The program that runs the jobs
    #[arg(long, help_heading = "Run")]
    engine: Engine,
    /// The number of chains of the run. Each is a job of its own, of one thread
    #[arg(long, value_name = "N", help_heading = "Sampler", allow_hyphen_values = true, value_parser = whole::<usize>)]
    chains: usize,
    /// Exit code 3 of the merge if the run has not converged
    #[arg(long, help_heading = "Run")]
    strict: bool,
    /// Print neither progress nor the model on standard error of the jobs
    #[arg(long, short, help_heading = "Run")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Engine {
    /// An array of jobs, and a job that merges them
    Slurm,
    /// GNU parallel, on this machine or by ssh on others
    Parallel,
    /// An indexed Job, and a Job that merges its chains
    Kubernetes,
}

/// The jobs of a run, as the scripts need them.
struct Jobs {
    /// The words of `fit` that the user has typed, quoted for the shell.
    fit: String,
    /// The words of `merge`.
    merge: Vec<String>,
    chains: usize,
    /// The minutes that a job and the merge may take, if they could be foreseen.
    minutes: Option<[u64; 2]>,
    /// The memory of a job and of the merge, in MiB, if it could be foreseen.
    memory: Option<[u64; 2]>,
}

pub fn run(args: ArrayArgs) -> Result<Ended, Failure> {
    let ArrayArgs { config: flags, file, out, engine, chains, strict, quiet: _ } = args;
    let words = passed(std::env::args_os().skip(2), &flags)?;
    if flags.sampler.threads.is_some() {
        return Err(Failure::usage("`--threads` is 1 in each job of an array: leave it out"));
    }
    let mut config = flags.over(file.as_deref())?;
    if config.table.impute.is_some() {
        return Err(Failure::usage(
            "`--impute` fits whole tables: it does not go with jobs of one chain",
        ));
    }
    if config.is_open() {
        return Err(Failure::usage(open_model(&words)));
    }
    let (opened, table) = looked_at(&mut config)?;
    config.sampler.chains = Some(chains);
    let recipe = config.recipe(&table)?.threads(1);
    let stop = StopHandle::new();
    stop.stop();
    // All but the sampling: what a job holds besides draws is then in memory.
    let fit = opened.try_fit(&recipe.clone().only_chains(0..1).stop_handle(&stop))?;
    let forecast = recipe.chains(1).forecast(fit.data(), fit.schema())?;
    let draws = config.chosen(fit.recipe()).sampler.draws.unwrap_or(0);
    let all = [1, chains].map(|chains| chains as f64 * draws as f64);
    let (minutes, memory) = needed(&fit, &forecast, all);
    let mut merge = vec!["bnn-mcmc".into(), "merge".into(), path_of(&out)?];
    if strict {
        merge.push("--strict".into());
    }
    let fit = format!("{words} --out {}", quoted(&path_of(&out)?));
    let jobs = Jobs { fit, merge, chains, minutes, memory };
    let scripts = jobs.scripts(engine, &out)?;
    // They may have been edited, as for a partition.
    if let Some((path, _)) = scripts.iter().find(|(path, _)| path.exists()) {
        let problem = "it is there already: remove it, or choose another folder (`--out`)";
        return Err(Failure::error(format!("{}: {problem}", path.display())));
    }
    for (path, text) in &scripts {
        file::write(path, text)?;
    }
    output::print(&said(&jobs, engine, &scripts[0].0, &forecast))?;
    Ok(Ended::Done)
}

/// The message about a model that is left to the data: jobs of their own cannot choose one together.
fn open_model(words: &str) -> String {
    format!(
        "the model is left to the data, and jobs cannot choose one together: name it (`--model network`), or let one \
         chain choose it and give its settings to all:\n  bnn-mcmc fit {words} --chains 1 --out chosen\n  \
         bnn-mcmc array --config chosen/config.toml --chains N --out FOLDER --engine ENGINE"
    )
}

/// The words of a command line but those that are `array`'s own, each quoted for a shell.
///
/// # Errors
/// If `fit` does not read the same settings from them.
fn passed(line: impl Iterator<Item = OsString>, flags: &Config) -> Result<String, Failure> {
    let mut words = Vec::new();
    let mut is_value = false;
    for word in line {
        let Ok(word) = word.into_string() else {
            return Err(Failure::usage("a script holds UTF-8 alone, and an argument is none"));
        };
        let own = |name: &&str| word == **name || word.starts_with(&format!("{name}="));
        if std::mem::take(&mut is_value) || word == "--strict" {
            continue;
        }
        match ["--engine", "--chains", "--out", "-o"].into_iter().find(own) {
            Some(name) => is_value = word == name,
            None => words.push(word),
        }
    }
    let fit = ["bnn-mcmc", "fit"].map(String::from).into_iter().chain(words.clone());
    let ours = ["--out", "x", "--chains", "0..1", "--of", "1"].map(String::from);
    let read = Cli::try_parse_from(fit.chain(ours)).ok();
    let is_same = matches!(&read, Some(Cli { command: Command::Fit(fit) }) if fit.config == *flags);
    let has_control = words.iter().any(|word| word.contains(char::is_control));
    match is_same && !has_control {
        true => Ok(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
        false => Err(Failure::usage(
            "the settings cannot be written into a script: give each flag by itself, as `--out run`, and no `--`, \
             line breaks or tabs",
        )),
    }
}

fn path_of(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let problem = || format!("`--out` is {}, but must be plain text", path.display());
    Ok(text.ok_or_else(|| Failure::usage(problem()))?.trim_end_matches('/').into())
}

/// The path of a script, which has the name of the folder of the run.
fn beside(out: &Path, ending: &str) -> Result<PathBuf, Failure> {
    let name = out.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        let shown = out.display();
        Failure::usage(format!("`--out` is {shown}, but must end with the name of a folder"))
    })?;
    Ok(out.with_file_name(format!("{name}.{ending}")))
}

/// The minutes and the MiB that a job and the merge need, as far as they can be foreseen, where they have so many draws.
fn needed(fit: &Fit, forecast: &Forecast, draws: [f64; 2]) -> (Option<[u64; 2]>, Option<[u64; 2]>) {
    let [draw, judged] = width(fit);
    let time = forecast.runs.first().map(|run| run.time);
    let limits = time.map(|time| [time, of_merge(draws[1] * judged as f64)].map(minutes));
    let memory = peak().map(|peak| draws.map(|n| memory(peak, n * (draw + judged) as f64)));
    (limits, memory)
}

/// The minutes that a job may take: twice the forecast, at least ten, in steps of five. Of 36 runs on 20 tables 35 took at
/// most 1.44 times the forecast (`SLOWER` in the library's `fit/forecast.rs`).
fn minutes(forecast: Duration) -> u64 {
    let twice = 2.0 * forecast.as_secs_f64() / 60.0;
    ((twice / 5.0).ceil() as u64).max(2).saturating_mul(5)
}

/// The time of a merge, which the predictions of the rows that are judged take: 400,000 draws with 200 rows took 141 s.
fn of_merge(predictions: f64) -> Duration {
    Duration::try_from_secs_f64(1.8e-6 * predictions).unwrap_or(Duration::MAX)
}

/// The numbers of a draw in a job: parameters, statistics, and predictions of the rows that the verdict judges.
fn width(fit: &Fit) -> [usize; 2] {
    let response = fit.data().response();
    let outputs = response.class_names().map_or(response.width(), <[String]>::len);
    let draw = fit.draws().values().dim().2 + fit.draws().stat_names().len();
    [draw, fit.judged_rows().len() * outputs]
}

/// The MiB of a job, from the bytes that this process has used at most, which has read the table, made a chain and run short
/// ones, and from the numbers of all draws, of which there are up to four copies where they are judged: a chain of 200,000
/// draws with 200 rows took 3.0 times their size, the merge of two such 4.0 times. The margin is half of it, and 256 MiB at
/// least; steps are of 256 MiB.
fn memory(peak: f64, numbers: f64) -> u64 {
    let mib = (peak + 4.0 * 8.0 * numbers) / f64::from(1 << 20);
    (((mib + (0.5 * mib).max(256.0)) / 256.0).ceil() as u64).saturating_mul(256)
}

/// The most memory that this process has used, in bytes, where the system tells.
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()?)
}

/// What is said when the scripts are written.
fn said(jobs: &Jobs, engine: Engine, script: &Path, forecast: &Forecast) -> String {
    let shown = quoted(&script.display().to_string());
    let begin = match engine {
        Engine::Slurm | Engine::Parallel => format!("bash {shown}"),
        Engine::Kubernetes => format!("the three commands at the top of {shown}"),
    };
    let limit = match jobs.minutes {
        Some([minutes, _]) => format!(
            "{forecast} on one core here; a job may take {}: twice as long, and at least 10 min",
            duration(60.0 * minutes as f64)
        ),
        None => "it cannot be foreseen: set the limit by hand, where the engine has one".into(),
    };
    let memory = match jobs.memory {
        Some([one, merge]) => format!(
            "{one} MiB for a job and {merge} MiB for the merge: what this command has used and four copies of the draws, \
             plus a margin of half, at least 256 MiB"
        ),
        None => "it cannot be foreseen on this system: set it by hand".into(),
    };
    format!(
        "script    {shown}: {} of one chain, and their merge\nbegin by  {begin}\ntime      {limit}\nmemory    {memory}\n",
        count(jobs.chains, "job")
    )
}

impl Jobs {
    /// The scripts of an engine, with their paths beside the folder of the run.
    fn scripts(&self, engine: Engine, out: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
        Ok(match engine {
            Engine::Slurm => {
                let path = beside(out, "sbatch")?;
                vec![(path.clone(), self.slurm(&path))]
            }
            Engine::Parallel if self.fit.contains('{') => {
                let problem = "a flag holds `{`, which GNU parallel would replace: take another name, or another engine";
                return Err(Failure::error(format!("{}: {problem}", self.fit)));
            }
            Engine::Parallel => {
                let path = beside(out, "parallel.sh")?;
                vec![(path.clone(), self.parallel(&path))]
            }
            Engine::Kubernetes => {
                let [chains, merge] = [beside(out, "yaml")?, beside(out, "merge.yaml")?];
                let [first, second] = self.kubernetes(&chains, &merge)?;
                vec![(chains, first), (merge, second)]
            }
        })
    }

    /// The command of one chain; `range` is its `--chains`, as the engine writes it.
    fn chain(&self, range: &str) -> String {
        let Self { fit, chains, .. } = self;
        format!("bnn-mcmc fit {fit} --chains {range} --of {chains} --threads 1")
    }

    fn merge(&self) -> String {
        self.merge.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// ` --mem=512M --time=2:00:00`, as far as they are known.
    fn limits(&self) -> [String; 2] {
        let memory = self.memory.map(|memory| memory.map(|mib| format!(" --mem={mib}M")));
        let time = |minutes| format!(" --time={}:{:02}:00", minutes / 60, minutes % 60);
        let [memory, time] = [memory, self.minutes.map(|all| all.map(time))];
        let [memory, time] = [memory, time].map(Option::unwrap_or_default);
        [0, 1].map(|i| format!("{}{}", memory[i], time[i]))
    }

    fn slurm(&self, path: &Path) -> String {
        let script = quoted(&path.display().to_string());
        let [one, merge] = self.limits();
        let (last, wrap) = (self.chains.saturating_sub(1), quoted(&self.merge()));
        let fit = self.chain("\"$i..$((i + 1))\"");
        format!(
            r#"#!/bin/bash
# bash {script}: submits each chain as a job, and their merge for when all have ended well.
#SBATCH --array=0-{last} --cpus-per-task=1{one}
#SBATCH --signal=TERM@60 --requeue --open-mode=append
set -euo pipefail
if [ -z "${{SLURM_ARRAY_TASK_ID:-}}" ]; then
  jobs=$(sbatch --parsable "$0")
  exec sbatch --dependency=afterok:"${{jobs%%;*}}"{merge} --wrap={wrap}
fi
i=$SLURM_ARRAY_TASK_ID status=0
srun {fit} || status=$?
# Ended by TERM, with all draws saved: back to the queue, and it goes on.
if [ "$status" -eq 143 ]; then scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$i"; fi
exit "$status"
"#
        )
    }

    fn parallel(&self, path: &Path) -> String {
        let script = quoted(&path.display().to_string());
        let memory = self.memory.map_or(String::new(), |[one, _]| format!(" --memfree {one}M"));
        let (last, merge) = (self.chains.saturating_sub(1), self.merge());
        let fit = self.chain("'{}..{= $_++ =}'");
        format!(
            r#"#!/bin/bash
# Runs the chains, one on each core, and merges them. Ended or killed, it goes on when it is run again. On machines that
# share this folder: PARALLEL="--sshloginfile nodes.txt --workdir $PWD" bash {script}
set -euo pipefail
seq 0 {last} | parallel --quote --retries 3 --termseq TERM,60000,KILL,1000{memory} \
  {fit}
{merge}
"#
        )
    }

    fn kubernetes(&self, chains: &Path, merge: &Path) -> Result<[String; 2], Failure> {
        let stem = chains.file_stem().unwrap_or_default().to_string_lossy();
        let name = dns_label(&stem);
        let [first, second] = [chains, merge].map(|path| quoted(&path.display().to_string()));
        let limits = self.memory.map(|memory| {
            memory.map(|mib| {
                format!("\n        resources: {{requests: {{cpu: 1, memory: {mib}Mi}}, limits: {{memory: {mib}Mi}}}}")
            })
        });
        let [of_chain, of_merge] = limits.unwrap_or_default();
        let json = |words: &[String]| {
            serde_json::to_string(words).map_err(|e| Failure::error(e.to_string()))
        };
        // Kubernetes replaces `$(NAME)` where it knows the name, and `$$` by `$`.
        let kept = |word: &String| word.replace('$', "$$"); //~ kubernetes-dollars
        let own = Self { fit: kept(&self.fit), merge: Vec::new(), ..*self };
        let range = "$JOB_COMPLETION_INDEX..$((JOB_COMPLETION_INDEX + 1))";
        let line = format!("exec {}", own.chain(range));
        let fit = json(&["sh".into(), "-c".into(), line])?;
        let command = json(&self.merge.iter().map(kept).collect::<Vec<_>>())?;
        let pod = |begin: &str, command: &str, limits: &str| {
            format!(
                r#"  template:
    spec:
      restartPolicy: Never{begin}
      containers:
      - name: bnn-mcmc
        image: bnn-mcmc
        command: {command}{limits}
        workingDir: /work
        volumeMounts: [{{name: work, mountPath: /work}}]
      volumes: [{{name: work, persistentVolumeClaim: {{claimName: work}}}}]
"#
            )
        };
        let (n, grace) = (self.chains, "\n      terminationGracePeriodSeconds: 60");
        let head = format!(
            r#"# kubectl apply -f {first}
# kubectl wait --for=condition=complete --timeout=-1s job/{name}
# kubectl apply -f {second}
# Yours are the image `bnn-mcmc` and the claim `work`, a volume that all nodes can write, with the table.
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  completionMode: Indexed
  completions: {n}
  parallelism: {n}
  podFailurePolicy: {{rules: [{{action: Ignore, onPodConditions: [{{type: DisruptionTarget}}]}}]}}
"#
        );
        let tail = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}-merge}}\nspec:\n  backoffLimit: 0\n"
        );
        Ok([head + &pod(grace, &fit, &of_chain), tail + &pod("", &command, &of_merge)])
    }
}

/// The name as Kubernetes allows it: small letters, digits and hyphens.
fn dns_label(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let label: String = name.chars().map(allowed).take(40).collect();
    format!("bnn-mcmc-{}", label.trim_matches('-')).trim_end_matches('-').into()
}
