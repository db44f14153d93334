//! One small sample of each format, written for these tests.

use ioda_workload::{Format, ReadOptions, TimeUnit};

const MSR: &str = "\
128166372003061629,host,0,Read,8192,4096,1331
128166372013061629,host,1,Write,512,1024,99
128166372013061729,host,0,Write,0,512,0
";

const DISKSIM: &str = "\
0.000 0 16 8 1
1.500 1 0 1 0
2.750 0 128 64 1
";

const MQSIM: &str = "\
938513000 0 16 8 1
940013000 1 0 1 0
941263000 0 128 64 1
";

const SYSTOR: &str = "\
Timestamp,Response,IOType,LUN,Offset,Size
1456095145.500000000,0.000806000,R,0,4096,131072
1456095145.250000000,0.008044000,W,3,0,512
";

const TENCENT: &str = "\
1538323200,16,8,1,1058
1538323200,0,1,0,1063
1538323201,128,64,0,1058
";

const ALIBABA: &str = "\
419,W,8192,4096,1577808000000046
725,R,0,16384,1577808000001046
419,R,4096,4096,1577808000001047
";

const SPC: &str = "\
0,16,3584,w,0.000000
1,0,3072,R,0.026214
0,32,512,r,0.026215,further,columns
";

const BLKPARSE: &str = "  8,16   0        4     0.000017985  5314  Q   R 16 + 8 [java]
  8,16   0        5     0.000024673  5314  D   R 16 + 8 [java]
  8,16   1        6     0.000124673  5314  D  WS 0 + 1 [java]
  8,16   1        7     0.000200000  5314  D  FN [java]
  8,16   1        8     0.000300000  5314  D   D 64 + 8 [java]
  8,16   1        9     0.000300000  5314  D   N 36 (12 00 00 00 24 00 ..) [java]
  8,16   0        0     0.000310000     0  m   N cfq5314 slice expired t=0
  8,16   0       11     0.001092325     0  C   R 16 + 8 [0]
  8,32   0       12     0.001100000    12  D FWFS 8 + 8 [java]
CPU0 (8,16):
 Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB

Total (8,16):
 Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB
";

const FIO_V2: &str = "\
fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb read 8192 4096
/dev/sdb wait 1500 0
/dev/sdb write 0 512
/dev/sdb sync 0 0
/dev/sdb trim 4096 4096
/dev/sdb close
";

const FIO_V3: &str = "\
fio version 3 iolog
100 file.0 add
100 file.0 open
150 file.0 read 8192 4096
1650 file.0 write 0 512
1700 file.0 datasync 0 0
1800 file.0 close
";

const BLKREPLAY: &str = "\
A free text header, in two lines;
with a semicolon.

start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0
      0.000000000 ;           16 ;    8 ; R ; 0.0 ; 0.0
      0.449518165 ;            0 ;    1 ; W ; 0.0 ; 0.0
      0.449518166 ;          128 ;   64 ; RA ; 0.0 ; 0.0
";

const CSV: &str = "\
t_us,op,offset_bytes,size_bytes,dev
0.000,R,8192,4096,0
1500.250,W,0,512,1
";

/// Four records of version 1: a read, a write, an unmap and an inquiry. All bytes are ASCII.
const VSCSI: &str = "\
\x01\0\0\0\0\x10\0\0\x01\0\0\0\x28\0\x01\x01\x10\0\0\0\0\0\0\0\x40\x42\x0f\0\0\0\0\0\
\x02\0\0\0\0\x02\0\0\x01\0\0\0\x2a\0\x01\x01\0\0\0\0\0\0\0\0\x41\x43\x0f\0\0\0\0\0\
\x03\0\0\0\0\x10\0\0\x01\0\0\0\x42\0\x01\x01\0\0\0\0\0\0\0\0\x42\x43\x0f\0\0\0\0\0\
\x04\0\0\0\x24\0\0\0\x01\0\0\0\x12\0\x01\x01\0\0\0\0\0\0\0\0\x42\x43\x0f\0\0\0\0\0";

/// Five events of blktrace: the name of a process, a queued and issued read, a write and a flush.
/// All bytes are ASCII.
const BLKTRACE: &str = "\
\x07tae\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04*\0\0\0\x10\0p\0\0\0\0\0\0\0\
\x10\0fio\0\0\0\0\0\0\0\0\0\0\0\0\0\
\x07tae\x02\0\0\0\0\x01\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x11\x01*\0\0\0\x10\0p\0\0\
\0\0\0\0\0\0\0\
\x07tae\x03\0\0\0@B\x0f\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\x10\0\0\x07\0A\x01*\0\0\0\x10\0p\0\0\0\0\0\
\0\0\0\0\
\x07tae\x04\0\0\0AC\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\x07\0B\x01*\0\0\0\x10\0p\0\0\0\0\0\0\
\0\0\0\
\x07tae\x05\0\0\0BC\x0f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\0D\x01*\0\0\0\x10\0p\0\0\0\0\0\0\0\
\0\0";

/// The sample of `format`.
pub(crate) fn sample(format: Format) -> &'static str {
    match format {
        Format::Msr => MSR,
        Format::DiskSim | Format::SsdSim | Format::Msps => DISKSIM,
        Format::MqSim => MQSIM,
        Format::Systor => SYSTOR,
        Format::Tencent => TENCENT,
        Format::Alibaba => ALIBABA,
        Format::Spc => SPC,
        Format::Blkparse => BLKPARSE,
        Format::Blktrace => BLKTRACE,
        Format::FioIologV2 => FIO_V2,
        Format::FioIologV3 => FIO_V3,
        Format::Blkreplay => BLKREPLAY,
        Format::Csv => CSV,
        Format::Vscsi => VSCSI,
    }
}

/// Options for the sample of `format`: the shape of DiskSim's relatives does not determine their
/// units.
pub(crate) fn options(format: Format) -> ReadOptions {
    let like_disksim = format.is_like_disksim();
    ReadOptions {
        format: like_disksim.then_some(format),
        time_unit: (like_disksim && format.time_unit().is_none()).then_some(TimeUnit::Milliseconds),
        ..ReadOptions::default()
    }
}
