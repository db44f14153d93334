//! What of the documents is not typed or compared as it stands, and why: everything else is.
//!
//! An entry that no document has any more fails the test, and so does a block that can neither be
//! typed nor compared and is not here.

use How::{After, File, Form, Options, Read, ReadAll, Typed, Words};

/// How a command or a block is checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// A command is typed with these options instead of its own.
    Options(&'static str),
    /// This is typed instead of a command.
    Typed(&'static str),
    /// A command is not typed, or a text not compared. A command of `ioda` is parsed, others are
    /// read by the shell.
    Read,
    /// The same of a whole block that begins so.
    ReadAll,
    /// Before a command these are typed.
    After(&'static [&'static str]),
    /// A block is a file of this name.
    File(&'static str),
    /// A text is what these print, word for word.
    Words(&'static [&'static str]),
    /// A text is what these print, but for numbers.
    Form(&'static [&'static str]),
}

/// An exception.
#[derive(Debug)]
pub(super) struct Exception {
    /// The page, from the root of the repository.
    pub(super) page: &'static str,
    /// How the command or the first line of the block begins; with an end of line in it, all of it.
    pub(super) what: &'static str,
    pub(super) how: How,
    pub(super) why: &'static str,
}

const fn on(page: &'static str, what: &'static str, how: How, why: &'static str) -> Exception {
    Exception { page, what, how, why }
}

const LONG: &str = "takes too long at its own length";
const OWN: &str = "is a file of the reader's own";
const BUILDS: &str = "builds everything; scripts/first-hour does it";
const AFTER_PYTHON: &str = "needs what `make python` builds; `make python-test` builds the same";
const ROOT_ONLY: &str = "needs root, FUSE and a loop device; file_systems.rs does it";
const GUEST: &str = "needs a guest with a kernel of its own";
const PROMETHEUS: &str = "needs Prometheus; that the metrics are there is looked at instead";
const STATE: &str = "is said in a state that must be brought about first";
const SOURCE: &str = "is a line of the program's source";

const README: &str = "README.md";
const SHEET: &str = "docs/data-sheet.md";
const BLACK_BOX: &str = "docs/black-box.md";
const DRIVES: &str = "docs/drives.md";
const FIT: &str = "docs/fit.md";
const FOUR: &str = "docs/four-drives.md";
const TODAY: &str = "docs/drives-of-today.md";
const DURABILITY: &str = "docs/durability.md";
const EXPLAIN: &str = "docs/explain.md";
const PLANNING: &str = "docs/planning.md";
const POLICIES: &str = "docs/policies.md";
const PREDICTORS: &str = "docs/predictors.md";
const QUIET: &str = "docs/quiet.md";
const NVME_TCP: &str = "docs/nvme-tcp.md";
const SERVING: &str = "docs/serving.md";
const SURVEY: &str = "docs/survey.md";
const SWEEP: &str = "docs/sweep.md";
const TRACES: &str = "docs/traces.md";
const PYTHON: &str = "docs/python.md";
const RESEARCHER: &str = "docs/tutorials/researcher.md";
const POLICY: &str = "docs/writing-a-policy.md";
const REQUESTS: &str = "docs/requests.md";

const HM_0_CSV: &str =
    "printf '%s\\n' time_us,op,offset_bytes,size_bytes 0,R,0,4096 900,W,8192,8192 > hm_0.csv";
const MINE_CSV: &str =
    "printf '%s\\n' timestamp,rw,lba,len 0,0,16,4096 900,1,80,8192 2000,0,8,512 > mine.csv";
const MY_CSV: &str = "(echo time_us,op,offset_bytes,size_bytes; for n in {1..2000}; do \
    echo $((n * 300)),$((n % 3 / 2)),$((n * 7919 % 5000 * 4096)),8192; done | sed 's/,0,/,R,/; s/,1,/,W,/') > my.csv";
const MINE_TSV: &str =
    "printf '%s\\t%s\\t%s\\t%s\\t%s\\n' 0 1 4 R a 1 70 8 W a 2 9 4 R b > mine.tsv";
const JOBS: &str = "for n in 0 1 2; do printf '%s\\n' 'fio version 3 iolog' '0 /dev/sdb add' '0 /dev/sdb open' \
    \"$((n * 7)) /dev/sdb read 0 4096\" '900 /dev/sdb write 8192 4096' > job.$n.log; done";
const SDA_SDB: &str = "for n in sda sdb; do printf '%s\\n' time_us,op,offset_bytes,size_bytes,disk \
    5,R,0,4096,d 9,W,4096,4096,d > $n.csv; done";
const SHORT_SURVEY: &str = "--policy base,ioda --workload azure --requests 100 --seeds 1";

/// The exceptions.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        page: NVME_TCP,
        what: "ioda drive",
        how: ReadAll,
        why: "four drives that run until they are stopped; crates/ioda/tests/it/wire starts such",
    },
    Exception {
        page: NVME_TCP,
        what: "ioda serve",
        how: ReadAll,
        why: "arrays and coordinators over the network; crates/ioda/tests/it/wire and attached start such",
    },
    Exception {
        page: NVME_TCP,
        what: "nvme discover",
        how: ReadAll,
        why: "a host with NVMe in its kernel; scripts/test-linux-host runs them in a guest",
    },
    Exception {
        page: NVME_TCP,
        what: "nvme connect",
        how: ReadAll,
        why: "a host with NVMe in its kernel; scripts/guest/multipath does it in a guest",
    },
    Exception {
        page: NVME_TCP,
        what: "nvme resv-register",
        how: ReadAll,
        why: "a host with NVMe in its kernel; scripts/guest/reservations does it in a guest",
    },
    on("ARCHITECTURE.md", "                  nvme", Read, "is a picture"),
    on(REQUESTS, "ioda compare azure", Options("--requests 1000 --requests-out r.parquet"), LONG),
    on(REQUESTS, "import polars as pl", Read, "needs Polars"),
    on(REQUESTS, "SELECT policy", Read, "needs DuckDB"),
    on(
        "docs/reference/command-line.md",
        "",
        ReadAll,
        "is written by the program, and compared there",
    ),
    on(PREDICTORS, "scripts/install-python", Read, "installs Python's packages"),
    on(
        PREDICTORS,
        "target/python/bin/python",
        Read,
        "takes half an hour, and needs these packages",
    ),
    on(FOUR, "ioda fit ioda-measured", Read, "takes minutes, of a measurement of the reader's own"),
    on(FOUR, "ioda trace inspect my.csv", After(&[MY_CSV]), OWN),
    on(FOUR, "ioda compare my.csv", Options("--drive 7450-960"), OWN),
    on(FOUR, "  reads at five times", Read, STATE),
    on(FIT, "sh measure.sh", Read, "destroys a drive"),
    on(FIT, "ioda fit ioda-measured", Read, "takes minutes, of a measurement of the reader's own"),
    on(README, "make demo", Typed("make -C $ROOT -n demo"), BUILDS),
    on(README, "make test", Typed("make -C $ROOT -n test"), "is what runs this"),
    on(README, "make python", Typed("make -C $ROOT -n python"), BUILDS),
    on(PYTHON, "make python", Typed("make -C $ROOT -n python"), BUILDS),
    on(PYTHON, "python/.venv/bin/python", Read, AFTER_PYTHON),
    on(PYTHON, "python/.venv/bin/maturin", Read, AFTER_PYTHON),
    on(README, "make install", Typed("make -C $ROOT -n install PREFIX=here"), BUILDS),
    on(README, "ioda compare tpcc-recorded\n", Options("--requests 1000"), LONG),
    on(README, "ioda compare synthetic", Options("--number_ios 2000"), LONG),
    on(README, "ioda explain --policy base --worst", Options("--requests 1000"), LONG),
    on(
        README,
        "ioda explain --policy base --request",
        Options("--request 77 --requests 1000"),
        LONG,
    ),
    on(
        README,
        "ioda trace inspect my.trace.zst",
        After(&[
            "for n in {1..16000}; do echo $((n * 300)),$((n % 3)),$(((n * 7919 % 5000 + 1) * 4096)),8192; done > n",
            "(echo time_us,op,offset_bytes,size_bytes; sed 's/,0,/,write,/; s/,[12],/,read,/' n) > my.trace.zst",
        ]),
        OWN,
    ),
    on(README, "ioda trace merge", After(&[JOBS]), OWN),
    on(README, "ioda trace inspect mine.csv", After(&[MINE_CSV]), OWN),
    on(README, "ioda load azure", Options("--requests 1000"), LONG),
    on(TODAY, "ioda presets drives --calibration", Read, LONG),
    on(TODAY, "scripts/tables", Read, LONG),
    on(TODAY, "ioda compare azure --drive 7450-960", Read, LONG),
    on(SHEET, "[drive]\n", File("my-drive.toml"), OWN),
    on(SHEET, "[drive]  ", File("plain.toml"), OWN),
    on(BLACK_BOX, "ioda reproduce black-box --results", Options("--quick"), LONG),
    on(BLACK_BOX, "ioda reproduce black-box-wide", Options("--quick"), LONG),
    on(DRIVES, "ioda compare dtrs", Options("--requests 1000"), LONG),
    on(DRIVES, "ioda reproduce ttflash-5", Options("--quick"), LONG),
    on(DRIVES, "ioda reproduce figure-10h", Options("--quick"), LONG),
    on(DURABILITY, "ioda torture --level raid6", Options("--time 1s"), LONG),
    on(DURABILITY, "ioda torture --level raid5 --state", Options("--for 1s"), LONG),
    on(
        DURABILITY,
        "ioda torture --sweep",
        Typed("ioda torture --script raid5:write,fail,replace:mixed:17"),
        LONG,
    ),
    on(DURABILITY, "ioda torture\n", Options("--seeds 3"), LONG),
    on(DURABILITY, "IODA_CUTS=500 cargo", Typed("$TESTS cuts:: --list | grep ': test$'"), LONG),
    on(
        DURABILITY,
        "cargo run --release --locked --bin ioda --features planted",
        Typed("ioda torture --planted 2>&1 | grep -- '--features planted'"),
        LONG,
    ),
    on(
        DURABILITY,
        "IODA_KILLS=200 cargo",
        Typed("$TESTS cuts:: --ignored --list | grep ': test$'"),
        LONG,
    ),
    on(EXPLAIN, "ioda explain --worst 5", Options("--requests 1000"), LONG),
    on(EXPLAIN, "ioda explain --request 719614", Options("--request 254 --requests 1000"), LONG),
    on(EXPLAIN, "ioda explain --requests 20000", Options("--requests 1000"), LONG),
    on(
        EXPLAIN,
        "ioda explain --worst 5",
        After(&["cp $ROOT/crates/ioda/tests/data/*.toml ."]),
        "begins in the folder where the drives of the page are",
    ),
    on(PLANNING, "ioda plan --drive femu --drives 8 --simulate", Options("--drives 4"), LONG),
    on(POLICIES, "ioda compare tpcc --policy", Options("--requests 1000"), LONG),
    on(POLICIES, "ioda compare tpcc --raid", Options("--requests 1000"), LONG),
    on(QUIET, "ioda compare tpcc --policy", Options("--requests 1000"), LONG),
    on(QUIET, "ioda compare tpcc --drives 8", Options("--requests 1000"), LONG),
    on(QUIET, "ioda compare msnfs --drive 7450-960", Options("--requests 1000"), LONG),
    on(QUIET, "ioda reproduce quiet-steps", Options("--quick"), LONG),
    on(QUIET, "ioda run synthetic", Options("--number_ios 2000"), LONG),
    on(POLICIES, "ioda survey", Options(SHORT_SURVEY), LONG),
    on(POLICIES, "ioda bench policies", Options("--quick"), LONG),
    on(POLICIES, "ioda compare lun0", Options("--requests 1000"), LONG),
    on(POLICIES, "ioda run tpcc", Options("--requests 1000"), LONG),
    on(SERVING, "fio --name=neighbour", Options("--runtime=1"), LONG),
    on(SERVING, "fio --name=reader", Options("--runtime=1"), LONG),
    on(SERVING, "ioda load synthetic", Options("--runtime 1s"), LONG),
    on(
        SERVING,
        "nbdcopy --flush in.img",
        After(&["truncate -s $(nbdinfo --size 'nbd+unix:///?socket=/tmp/ioda.sock') in.img"]),
        OWN,
    ),
    on(SERVING, "qemu-system-x86_64", Read, GUEST),
    on(SERVING, "Disk /dev/vda", Read, GUEST),
    on(SERVING, "mkdir -p /tmp/nbd", ReadAll, ROOT_ONLY),
    on(SERVING, "umount /tmp/fs", ReadAll, ROOT_ONLY),
    on(SERVING, "nbd-client -N", ReadAll, GUEST),
    on(SERVING, "db_bench", Options("--num=2000"), LONG),
    on(SERVING, "db_bench --benchmarks=fillrandom", After(&["mkdir -p /tmp/fs"]), ROOT_ONLY),
    on(
        SERVING,
        "INFO 61 records",
        Form(&[
            "(ioda load synthetic --rw randwrite --bs 4k --rate_iops 2000 --runtime 60s & \
             until ioda ctl status | grep -Eq '^ write +[1-9]'; do :; done; sleep 1; kill -9 $SERVER; wait) > load 2>&1",
            "ioda serve --storage /tmp/array",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "ioda serve --plain --create",
        After(&["truncate -s 64M /dev/loop0 /dev/loop1 /dev/loop2 /dev/loop3"]),
        "needs root: files stand for loop devices",
    ),
    on(
        SERVING,
        "error: drive 0 at /dev/loop0 is not blank",
        Words(&[
            "ioda ctl shutdown",
            "mkdir kept; mv /tmp/loop? kept; truncate -s 64M /dev/loop0 /dev/loop1 /dev/loop2 /dev/loop3",
            "printf _BHRfS_M | dd bs=1 seek=65600 conv=notrunc of=/dev/loop0 status=none",
            // What makes a file blank is another command.
            "(ioda serve --plain --create --storage /dev/loop0,/dev/loop1,/dev/loop2,/dev/loop3) 2>&1 | \
             sed 's/truncate --size 0/blkdiscard --zeroout/'",
            "mv -f kept/* .",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "error: --storage: /srv/array/drive-0 is in use",
        Read,
        "names processes and mounts of the reader; crates/live/tests/it/claims.rs makes such",
    ),
    on(
        SERVING,
        "error: drive 0 at nvme+tcp://10.0.0.2:4420/nqn.a is in use",
        Read,
        "names a network of the reader; crates/ioda/tests/it/claims.rs makes such",
    ),
    on(
        SERVING,
        "error: the array has stopped: drive 0",
        Read,
        "names a network of the reader; crates/ioda/tests/it/claims.rs makes such",
    ),
    on(
        SERVING,
        "INFO drive 0 of the array is at place 3",
        Words(&["ioda serve --plain --storage /dev/loop3,/dev/loop1,/dev/loop2,/dev/loop0"]),
        STATE,
    ),
    on(
        SERVING,
        "WARN DEGRADED: drive 2",
        Words(&[
            "ioda ctl shutdown",
            "mv /dev/loop2 kept",
            "ioda serve --plain --storage /dev/loop0,/dev/loop1,/dev/loop2,/dev/loop3",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "error: drive 1 at /srv/mirror/drive-1 is not found",
        Words(&[
            "ioda ctl shutdown",
            "rm -f kept/*",
            "ioda serve --plain --create --raid 1 --drives 2 --storage /srv/mirror --drive-size 64m",
            "ioda ctl shutdown",
            "mv /srv/mirror/drive-1 kept",
            "ioda serve --plain --storage /srv/mirror",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "$ ioda serve --plain --storage /srv/array --force-assembly",
        Words(&[
            "ioda serve --plain --create --storage /srv/array --drive-size 64m",
            "ioda ctl fail 2",
            "ioda ctl fail 0 --force",
            "ioda ctl fail 1 --force",
            "kill -9 $SERVER",
            "echo no | script -qec 'stty cols 300; ioda serve --http none --plain --storage /srv/array --force-assembly' said",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "nbdinfo: nbd_connect_uri: gnutls",
        Words(&[
            "mkdir nobody; cp ca-cert.pem nobody",
            "nbdinfo --size \"nbds://localhost/ioda?tls-certificates=$PWD/nobody\"",
            "nbdinfo --size nbd://127.0.0.1:10809/ioda",
        ]),
        STATE,
    ),
    on(
        SERVING,
        "ioda ctl status --watch",
        Typed("timeout 2 ioda ctl status --watch; [ $? = 124 ]"),
        "does not end",
    ),
    on(SERVING, "scrape_configs:", File("prometheus.yml"), OWN),
    on(
        SERVING,
        "promtool check config",
        Typed("curl -sf http://$(grep -o '127[0-9.:]*' prometheus.yml)/metrics | grep ^ioda_"),
        PROMETHEUS,
    ),
    on(
        SERVING,
        "curl -s http://127.0.0.1:9640/metrics | promtool",
        Typed("curl -sf http://127.0.0.1:9640/metrics | grep ^ioda_"),
        PROMETHEUS,
    ),
    on(
        SERVING,
        "promtool query instant http://127.0.0.1:9190 'histogram",
        Typed(
            "curl -sf http://127.0.0.1:9640/metrics | grep '^ioda_request_duration_seconds_bucket.*operation=\"read\"'",
        ),
        PROMETHEUS,
    ),
    on(
        SERVING,
        "promtool query instant http://127.0.0.1:9190 ioda_drive_in_window",
        Typed("curl -sf http://127.0.0.1:9640/metrics | grep ^ioda_drive_in_window"),
        PROMETHEUS,
    ),
    on(SERVING, "ioda ctl policy ioda", After(&["ioda ctl policy base"]), STATE),
    on(SERVING, "refused: policy plm", Words(&["ioda serve", "ioda ctl policy plm"]), STATE),
    on(SERVING, "[serve]", File("array.toml"), OWN),
    on(
        SERVING,
        "error: bad.toml, line 2",
        Words(&["printf '[serve]\\nadress = []\\n' > bad.toml", "ioda serve --config bad.toml"]),
        STATE,
    ),
    on(SERVING, "[Unit]", File("ioda.service"), OWN),
    on(SERVING, "measuring 7 ways", Form(&["ioda bench timer --seconds 1"]), LONG),
    on(SWEEP, "ioda sweep tpcc", Options("--requests 1000"), LONG),
    on(
        SWEEP,
        "ioda sweep tpcc --rerate 0.1 --vary over-provisioning",
        Options("--requests 30000"),
        "takes too long at its own length, and with fewer requests nothing is collected",
    ),
    on(
        SURVEY,
        "ioda survey --shard",
        Typed(
            "for SLURM_ARRAY_TASK_ID in 1 2; do ioda survey --shard $SLURM_ARRAY_TASK_ID/2 \
             --output survey-$SLURM_ARRAY_TASK_ID --policy base,ioda --workload azure --requests 100 \
             --seeds 1; done",
        ),
        "is a part of an array of jobs; here are all parts of a short one",
    ),
    on(SURVEY, "ioda survey --output", Options(SHORT_SURVEY), LONG),
    on(
        TRACES,
        "error: trace mine.csv",
        Words(&[
            "printf '%s\\n' timestamp,op,offset,size 0,R,8192,4096 750,W,1052672,16384 1500,R,4096,4096 > mine.csv",
            "ioda trace inspect mine.csv",
        ]),
        OWN,
    ),
    on(TRACES, "tar -xOf traces.tar", After(&[HM_0_CSV, "tar -cf traces.tar hm_0.csv"]), OWN),
    on(
        TRACES,
        "error: trace replayed.trace",
        Words(&[
            "for n in {1..40}; do echo $((n * 3)).$((100000 + n * 7919 % 900000)) 0 \
             $((n * 7919 % 5000 * 4096)) $((4096 << n % 3)) $((n % 2)); done > replayed.trace",
            "ioda trace inspect replayed.trace",
        ]),
        OWN,
    ),
    on(TRACES, "ioda trace merge job.0.log", After(&[JOBS]), OWN),
    on(TRACES, "ioda trace merge sda.csv", After(&[SDA_SDB]), OWN),
    on(TRACES, "time=COLUMN", Read, "is a grammar"),
    on(TRACES, "ioda trace inspect mine.csv", After(&[MINE_CSV]), OWN),
    on(TRACES, "ioda run mine.tsv", After(&[MINE_TSV]), OWN),
    on(RESEARCHER, "ioda sweep azure", Options("--requests 1000"), LONG),
    on(RESEARCHER, "ioda survey", Options(SHORT_SURVEY), LONG),
    on(
        POLICY,
        "        shorter_queue",
        Words(&[
            "sed -n 's/hedged::HEDGED,/shorter_queue::SHORTER_QUEUE,/p' $ROOT/crates/array/src/policy/registry/mod.rs",
        ]),
        SOURCE,
    ),
    on(
        POLICY,
        "    (\"shorter-queue\"",
        Words(&[
            "sed -n 's/(\"hedged\"/(\"shorter-queue\"/p' $ROOT/crates/array/tests/it/table.rs",
        ]),
        SOURCE,
    ),
    on(
        POLICY,
        "ioda compare tpcc",
        Typed("ioda compare tpcc --policy base,hedged,ioda,ideal --requests 1000"),
        "names a policy that the page has the reader write",
    ),
    on(
        POLICY,
        "ioda survey",
        Typed(
            "ioda survey --policy base,hedged,ioda,ideal --workload azure --requests 100 --seeds 1",
        ),
        "names a policy that the page has the reader write",
    ),
];
