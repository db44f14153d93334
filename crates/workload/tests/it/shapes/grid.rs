//! All orders of the columns of a table without header, in all units and words: each file is read
//! correctly, or refused.

use super::{DATE, FILE_TIME, Fate, MS, Req, S, US, file, is_right, read, truth};
use std::fmt::Write as _;

/// Contents of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    Time,
    Op,
    Offset,
    Size,
    Device,
    Latency,
}
use Cell::{Device, Latency, Offset, Op, Size, Time};

/// Notation of times: its name, the time of a request, and the tick.
type Clock = (&'static str, fn(&Req) -> String, u64);

const CLOCKS: [Clock; 13] = [
    ("s with nine digits", |req| req.decimal(S, 9), 1),
    ("s with six digits", |req| req.decimal(S, 6), US),
    ("ms with six digits", |req| req.decimal(MS, 6), 1),
    ("ms with three digits", |req| req.decimal(MS, 3), US),
    ("us", |req| req.in_units(US).to_string(), US),
    ("us with three digits", |req| req.decimal(US, 3), 1),
    ("ns", |req| req.nanos.to_string(), 1),
    ("s since 1970", |req| (DATE + req.nanos / S).to_string(), S),
    ("s since 1970 with six digits", |req| dated(req).decimal(S, 6), US),
    ("ms since 1970", |req| dated(req).in_units(MS).to_string(), MS),
    ("us since 1970", |req| dated(req).in_units(US).to_string(), US),
    ("ns since 1970", |req| dated(req).nanos.to_string(), 1),
    ("Windows ticks", |req| (FILE_TIME + req.nanos / 100).to_string(), 100),
];

fn dated(req: &Req) -> Req {
    Req { nanos: req.nanos + DATE * S, ..*req }
}

/// Name of a unit of addresses, and its bytes.
type Counted = (&'static str, u64);

const COUNTED: [Counted; 4] = [("bytes", 1), ("sectors", 512), ("KiB", 1_024), ("pages", 4_096)];

/// Words for read and write.
const WORDS: [(&str, &str); 6] =
    [("0", "1"), ("1", "0"), ("R", "W"), ("r", "w"), ("Read", "Write"), ("RS", "WS")];

/// All orders of `cells`.
fn orders(cells: &[Cell]) -> Vec<Vec<Cell>> {
    let [first, rest @ ..] = cells else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for place in 0..=order.len() {
            let mut order = order.clone();
            order.insert(place, *first);
            all.push(order);
        }
    }
    all
}

/// Sets of columns of the tables, each with a prime `p`: one in `p` tables of the set is tried.
const TABLES: [(&[Cell], usize); 4] = [
    (&[Time, Op, Offset, Size], 61),
    (&[Time, Op, Offset, Size, Device], 307),
    (&[Time, Op, Offset, Size, Latency], 307),
    (&[Time, Op, Offset, Size, Device, Latency], 2_999),
];

/// A table of one kind.
struct Table {
    order: Vec<Cell>,
    separator: &'static str,
    clock: Clock,
    offset: Counted,
    size: Counted,
    words: (&'static str, &'static str),
}

impl Table {
    fn line(&self, req: &Req) -> String {
        let cell = |cell: &Cell| match cell {
            Time => self.clock.1(req),
            Op => if req.writes { self.words.1 } else { self.words.0 }.to_owned(),
            Offset => (req.offset / self.offset.1).to_string(),
            Size => (req.size / self.size.1).to_string(),
            Device => req.device.to_string(),
            Latency => (80 + req.offset / 4_096 % 320).to_string(),
        };
        self.order.iter().map(cell).collect::<Vec<_>>().join(self.separator)
    }

    fn text(&self) -> String {
        format!(
            "{:?} separated by {:?}, times in {}, offsets in {}, sizes in {}, {} reads",
            self.order, self.separator, self.clock.0, self.offset.0, self.size.0, self.words.0
        )
    }
}

/// Tables that are tried.
fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    let mut number = 0;
    for (cells, one_in) in TABLES {
        let orders = orders(cells);
        for clock in CLOCKS {
            for (offset, size) in pairs() {
                for words in WORDS {
                    for separator in [",", " ", "\t", ";"] {
                        for order in &orders {
                            number += 1;
                            if number % one_in == 0 {
                                let order = order.clone();
                                tables.push(Table { order, separator, clock, offset, size, words });
                            }
                        }
                    }
                }
            }
        }
    }
    tables
}

#[test]
fn no_order_of_columns_is_read_wrong() {
    let hosts = [
        ("a thousand requests a second", truth(MS, US, 3)),
        ("fifty requests a second", truth(20 * MS, US, 1)),
        ("a hundred thousand requests a second", truth(10 * US, 100, 2)),
    ];
    let tables = tables();
    assert!(tables.len() > 3_000, "{}", tables.len());
    let (mut right, mut wrong) = (0, String::new());
    for table in &tables {
        for (host, all) in &hosts {
            let mut meant = all[..100].to_vec();
            if !table.order.contains(&Device) {
                meant.iter_mut().for_each(|req| req.device = 0);
            }
            let file =
                file("", meant, |req| table.line(req), Fate::Read(""), &[]).tick(table.clock.2);
            match read(&file.text, "") {
                Ok((found, _)) if is_right(&file, &found) => right += 1,
                Ok((_, evidence)) => {
                    let line = file.text.lines().nth(1).unwrap_or("");
                    writeln!(wrong, "{}, {host}: {line}\n{evidence}\n", table.text()).unwrap();
                }
                Err(sentence) => {
                    let at_line = sentence.starts_with("trace t, line ");
                    assert!(at_line || sentence.contains("--"), "nothing to type: {sentence}");
                }
            }
        }
    }
    assert!(right > 0, "nothing is read at all");
    assert_eq!(wrong, "", "{right} are right");
}

/// Units of addresses and sizes: equal, or different.
fn pairs() -> Vec<(Counted, Counted)> {
    let [bytes, sectors, kib, pages] = COUNTED;
    let others = [(bytes, sectors), (sectors, bytes), (bytes, kib), (sectors, kib), (pages, bytes)];
    COUNTED.into_iter().map(|unit| (unit, unit)).chain(others).collect()
}
