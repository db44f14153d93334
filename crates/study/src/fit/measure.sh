#!/bin/sh
# Measures a flash drive for `ioda fit`: percentiles of reads and writes at several loads.
#
# ALL DATA OF THE DRIVE IS DESTROYED. The drive is discarded, filled in sequence, overwritten at
# random for an hour, and then measured at one load after the other: less than two hours in all.
#
#   sh measure.sh /dev/nvme1n1 /dev/nvme1n1      the device twice, so that it is no slip
#
# Results are load-RATE.json in the folder ioda-measured; `ioda fit ioda-measured` reads them.
set -eu

if [ "$#" -ne 2 ] || [ "$1" != "$2" ]; then
    echo "measure.sh: this destroys all data of a drive; type its device twice, as in: sh measure.sh /dev/nvme1n1 /dev/nvme1n1" >&2
    exit 2
fi
device=$1
if [ ! -b "$device" ]; then
    echo "measure.sh: $device is no block device" >&2
    exit 2
fi
if lsblk --noheadings --output MOUNTPOINT "$device" | grep -q '[^[:space:]]'; then
    echo "measure.sh: $device or a partition of it is mounted; unmount it first" >&2
    exit 2
fi
if ! command -v fio > /dev/null; then
    echo "measure.sh: fio is not installed" >&2
    exit 2
fi
mkdir -p ioda-measured

echo "discarding $device"
blkdiscard "$device" || echo "measure.sh: $device cannot be discarded; it is filled all the same" >&2
common="--filename=$device --ioengine=io_uring --direct=1 --randrepeat=0 --norandommap"
echo "filling it in sequence"
fio $common --name=fill --rw=write --bs=512k --iodepth=8 --size=100% > /dev/null
echo "overwriting it at random for @OVERWRITE_SECONDS@ s"
fio $common --name=overwrite --rw=randwrite --bs=4k --iodepth=128 --numjobs=4 --time_based \
    --runtime=@OVERWRITE_SECONDS@ --size=100% > /dev/null
echo "5 minutes at 25 thousand writes per second"
fio $common --name=rest --rw=randwrite --bs=4k --iodepth=64 --rate_iops=25000 --time_based \
    --runtime=300 --size=100% > /dev/null

for rate in @LOADS@; do
    echo "@SECONDS@ s at $rate writes per second"
    fio --output-format=json --output="ioda-measured/load-$rate.json" - << JOBS
[global]
filename=$device
ioengine=io_uring
direct=1
bs=4k
size=100%
time_based
ramp_time=10
runtime=@SECONDS@
randrepeat=0
norandommap
random_generator=tausworthe64
lat_percentiles=1
clat_percentiles=0
percentile_list=50:90:99:99.9:99.99:99.999
rate_process=poisson
group_reporting

[writers-$rate]
rw=randwrite
iodepth=64
numjobs=6
rate_iops=$((rate / 6))

[probe]
new_group
rw=randrw
rwmixread=50
iodepth=64
rate_iops=5000,5000
JOBS
done
echo "done: ioda fit ioda-measured"
