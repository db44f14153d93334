// YCSB's workloads A to F on RocksDB, in one process.
//
//   ycsb load FOLDER RECORDS                               a new database with so many records of 1,000 bytes
//   ycsb A..F FOLDER RECORDS OPERATIONS THREADS LATENCIES   writes nanoseconds of each read (E: each scan) into LATENCIES
//   ycsb A..F FOLDER RECORDS OPERATIONS THREADS LATENCIES RATE    so many operations a second, all threads together; a line of
//                                                           each has nanoseconds since 1970 when it was due, and those until it was over
//
// Records are chosen as YCSB does (Cooper et al., SoCC 2010): zipfian with 0.99, spread over all keys; D reads the latest.
// Reads go past the page cache and the cache of blocks is 4 MiB, so that most reach the array.

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

// RocksDB draws names of sessions from an instruction of the processor, which differ from run to run and are in its files.
// This takes the place of the library's.
std::random_device::result_type std::random_device::_M_getval() {
  static std::mt19937 same;
  return same();
}

namespace {

constexpr std::size_t kRecordBytes = 1000;
constexpr int kLongestScan = 100;

struct Mix {
  double read, update, insert, scan;  // The rest reads, changes and writes back.
  bool latest;
};

Mix mix_of(char name) {
  switch (name) {
    case 'A': return {0.5, 0.5, 0, 0, false};
    case 'B': return {0.95, 0.05, 0, 0, false};
    case 'C': return {1, 0, 0, 0, false};
    case 'D': return {0.95, 0, 0.05, 0, true};
    case 'E': return {0, 0, 0.05, 0.95, false};
    default: return {0.5, 0, 0, 0, false};
  }
}

void check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "ycsb: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Spreads neighbours over the whole range (the finalizer of SplitMix64).
std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string key_of(std::uint64_t record) {
  char text[32];
  std::snprintf(text, sizeof text, "user%020llu", static_cast<unsigned long long>(spread(record + 1)));
  return text;
}

using Draw = std::mt19937_64;

double share(Draw& draw) { return static_cast<double>(draw() >> 11) * 0x1p-53; }

std::string value_of(Draw& draw) {
  std::string value(kRecordBytes, '\0');
  for (std::size_t at = 0; at + 8 <= kRecordBytes; at += 8) {
    const std::uint64_t word = draw();
    value.replace(at, 8, reinterpret_cast<const char*>(&word), 8);
  }
  return value;
}

// Ranks 0 to n-1 with probabilities proportional to 1 / (rank + 1)^0.99 (Gray et al., SIGMOD 1994).
class Zipfian {
 public:
  explicit Zipfian(std::uint64_t n) : n_(n) {
    for (std::uint64_t rank = 1; rank <= n; ++rank) zeta_ += std::pow(1.0 / static_cast<double>(rank), kTheta);
    const double zeta2 = 1 + std::pow(0.5, kTheta);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(n), 1 - kTheta)) / (1 - zeta2 / zeta_);
  }

  std::uint64_t operator()(Draw& draw) const {
    const double u = share(draw);
    const double uz = u * zeta_;
    if (uz < 1) return 0;
    if (uz < 1 + std::pow(0.5, kTheta)) return 1;
    const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
    return std::min(static_cast<std::uint64_t>(rank), n_ - 1);
  }

 private:
  static constexpr double kTheta = 0.99;
  std::uint64_t n_;
  double zeta_ = 0;
  double eta_ = 0;
};

std::unique_ptr<rocksdb::DB> open(const std::string& folder) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(4 << 20);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.use_direct_reads = true;
  options.use_direct_io_for_flush_and_compaction = true;
  options.write_buffer_size = 8 << 20;
  options.target_file_size_base = 8 << 20;
  options.max_bytes_for_level_base = 32 << 20;
  options.max_background_jobs = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  // A thread that spins for another one would stop virtual time.
  options.enable_write_thread_adaptive_yield = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* opened = nullptr;
  check(rocksdb::DB::Open(options, folder, &opened));
  return std::unique_ptr<rocksdb::DB>(opened);
}

void load(rocksdb::DB& db, std::uint64_t records) {
  Draw draw(1);
  for (std::uint64_t record = 0; record < records; ++record) check(db.Put({}, key_of(record), value_of(draw)));
  check(db.Flush({}));
  check(db.CompactRange({}, nullptr, nullptr));
}

using Clock = std::chrono::system_clock;

struct Worker {
  Draw draw;
  // Without a rate, of reads and scans only.
  std::vector<std::int64_t> latencies;
  // With one, when each operation is due: it counts from then, whenever the one before was over.
  Clock::duration every{};
  Clock::time_point next;
  std::vector<std::int64_t> dues;
};

std::int64_t nanoseconds(Clock::duration time) { return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(); }

void run(rocksdb::DB& db, const Mix& mix, const Zipfian& zipfian, std::uint64_t loaded, std::atomic<std::uint64_t>& records,
         std::uint64_t operations, Worker& worker) {
  rocksdb::WriteOptions synced;
  synced.sync = true;
  std::string value;
  for (std::uint64_t done = 0; done < operations; ++done) {
    const std::uint64_t rank = zipfian(worker.draw);
    const std::uint64_t record = mix.latest ? records - 1 - rank : spread(rank) % loaded;
    const double which = share(worker.draw);
    const bool paced = worker.every.count() > 0;
    auto began = Clock::now();
    if (paced) {
      if (began < worker.next) std::this_thread::sleep_until(worker.next);
      began = worker.next;
      worker.next += worker.every;
    }
    const auto over = [&] { worker.latencies.push_back(nanoseconds(Clock::now() - began)); };
    const auto ended = [&] {
      if (!paced) over();
    };
    if (which < mix.read) {
      const auto status = db.Get({}, key_of(record), &value);
      // The latest record may be on its way still.
      if (!status.IsNotFound()) check(status);
      ended();
    } else if (which < mix.read + mix.update) {
      check(db.Put(synced, key_of(record), value_of(worker.draw)));
    } else if (which < mix.read + mix.update + mix.insert) {
      check(db.Put(synced, key_of(records++), value_of(worker.draw)));
    } else if (which < mix.read + mix.update + mix.insert + mix.scan) {
      const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
      auto left = 1 + static_cast<int>(worker.draw() % kLongestScan);
      for (at->Seek(key_of(record)); at->Valid() && left > 0; at->Next()) --left;
      check(at->status());
      ended();
    } else {
      check(db.Get({}, key_of(record), &value));
      ended();
      check(db.Put(synced, key_of(record), value_of(worker.draw)));
    }
    if (paced) {
      worker.dues.push_back(nanoseconds(began.time_since_epoch()));
      over();
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const bool loads = what == "load" && count == 4;
  if (!loads && !((count == 7 || count == 8) && what.size() == 1 && what[0] >= 'A' && what[0] <= 'F')) {
    std::fprintf(stderr, "ycsb load FOLDER RECORDS | ycsb A..F FOLDER RECORDS OPERATIONS THREADS LATENCIES [RATE]\n");
    return 2;
  }
  const std::unique_ptr<rocksdb::DB> db = open(arguments[2]);
  const std::uint64_t loaded = std::strtoull(arguments[3], nullptr, 10);
  if (loads) {
    load(*db, loaded);
    return 0;
  }
  const std::uint64_t operations = std::strtoull(arguments[4], nullptr, 10);
  const std::uint64_t threads = std::strtoull(arguments[5], nullptr, 10);
  const Mix mix = mix_of(what[0]);
  const Zipfian zipfian(loaded);
  std::atomic<std::uint64_t> records = loaded;
  std::vector<Worker> workers(threads);
  const auto began = Clock::now();
  std::vector<std::thread> running;
  for (std::uint64_t number = 0; number < threads; ++number) {
    workers[number].draw.seed(100 + number);
    if (count == 8) {
      const double rate = std::strtod(arguments[7], nullptr);
      const auto after = [&](double operations_due) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(operations_due / rate));
      };
      workers[number].every = after(static_cast<double>(threads));
      workers[number].next = began + after(static_cast<double>(number));
    }
    running.emplace_back(
        [&, number] { run(*db, mix, zipfian, loaded, records, operations / threads, workers[number]); });
  }
  for (std::thread& thread : running) thread.join();
  std::ofstream latencies(arguments[6]);
  for (const Worker& worker : workers) {
    for (std::size_t at = 0; at < worker.latencies.size(); ++at) {
      if (!worker.dues.empty()) latencies << worker.dues[at] << ' ';
      latencies << worker.latencies[at] << '\n';
    }
  }
  return 0;
}
