//! The rooms of the library, that is the files and folders of `src`, and the arrows between them: which room uses
//! which. There is no circle, so that each room can be read without those above it.
//!
//! The table of rooms, by the lines of code, of documentation and of tests in them:
//!
//!     cargo test --release -p bnn-mcmc-tests --test interface rooms:: -- --nocapture

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What is counted of a room.
#[derive(Default)]
struct Room {
    files: usize,
    /// Of code, of comments, of tests.
    lines: [usize; 3],
    /// Public structs, enums, traits and types.
    types: usize,
    /// The rooms that it uses.
    uses: BTreeSet<String>,
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let each = paths.into_iter().flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    each.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The names that follow `crate::` in code, one by one or in braces.
fn names(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let word = |text: &str| -> String {
            text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                c if begins && !c.is_whitespace() => {
                    found.insert(word(&group[i..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    found
}

fn rooms() -> BTreeMap<String, Room> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    for path in sources(&src) {
        let relative = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        let name = relative.split('/').next().unwrap().trim_end_matches(".rs").to_string();
        if name == "lib" || name == "prelude" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let at = if relative.ends_with("tests.rs") {
            Some(0)
        } else {
            text.find("#[cfg(test)]\nmod tests {")
        };
        let (whole, tests) = text.split_at(at.unwrap_or(text.len()));
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        let code: String = whole
            .lines()
            .filter(|line| !is_comment(line))
            .map(|line| format!("{}\n", line.split(" // ").next().unwrap_or(line)))
            .collect();
        let room = rooms.entry(name.clone()).or_default();
        room.files += 1;
        room.lines[0] += code.lines().filter(|line| !line.trim().is_empty()).count();
        room.lines[1] += whole.lines().filter(is_comment).count();
        room.lines[2] += tests.lines().filter(|line| !line.trim().is_empty()).count();
        let is_type = |line: &str| {
            ["struct", "enum", "trait", "type"]
                .iter()
                .any(|kind| line.starts_with(&format!("pub {kind} ")))
        };
        room.types += code.lines().filter(|line| is_type(line)).count();
        room.uses.extend(names(&code).into_iter().map(|used| match &used[..] {
            "Error" => "error".into(),
            _ => used,
        }));
        room.uses.remove(&name);
    }
    let known: BTreeSet<String> = rooms.keys().cloned().collect();
    rooms.values_mut().for_each(|room| room.uses.retain(|used| known.contains(used)));
    rooms
}

/// The rooms from the lowest, which use none, upwards; and those that stand in circles, or above them.
fn floors(rooms: &BTreeMap<String, Room>) -> (Vec<String>, Vec<String>) {
    let (mut below, mut left) = (Vec::new(), rooms.keys().cloned().collect::<Vec<_>>());
    loop {
        let (free, rest): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|name| rooms[name].uses.iter().all(|used| below.contains(used)));
        left = rest;
        if free.is_empty() {
            return (below, left);
        }
        below.extend(free);
    }
}

#[test]
fn no_room_uses_one_that_uses_it() {
    let rooms = rooms();
    let (order, in_circles) = floors(&rooms);
    println!("room           files   code   docs  tests  types  uses");
    for (name, room) in order.iter().chain(&in_circles).map(|name| (name, &rooms[name])) {
        let [code, docs, tests] = room.lines;
        let uses = room.uses.iter().cloned().collect::<Vec<_>>().join(" ");
        println!("{name:14} {:5} {code:6} {docs:6} {tests:6} {:6}  {uses}", room.files, room.types);
    }
    let sum = |of: fn(&Room) -> usize| rooms.values().map(of).sum::<usize>();
    println!(
        "{} rooms {:5} {:6} {:6} {:6} {:6}  {} arrows",
        rooms.len(),
        sum(|room| room.files),
        sum(|room| room.lines[0]),
        sum(|room| room.lines[1]),
        sum(|room| room.lines[2]),
        sum(|room| room.types),
        sum(|room| room.uses.len())
    );
    assert_eq!(in_circles, [""; 0], "these rooms use each other, or use such rooms");
}

#[test]
fn names_are_found_in_code() {
    let code = "use crate::{Error, data::{Dataset, x}, memory};\nlet y = crate::rng::ChainRng;";
    let found: Vec<String> = names(code).into_iter().collect();
    assert_eq!(found, ["Error", "data", "memory", "rng"]);
    let room = |uses: &[&str]| Room {
        uses: uses.iter().map(ToString::to_string).collect(),
        ..Room::default()
    };
    let house = [("a", room(&["b"])), ("b", room(&["c"])), ("c", room(&["b"])), ("d", room(&[]))];
    let house = house.map(|(name, room)| (name.to_string(), room)).into();
    let (order, in_circles) = floors(&house);
    assert_eq!(
        (&order[..], &in_circles[..]),
        (&["d".into()][..], &["a".into(), "b".into(), "c".into()][..])
    );
}
