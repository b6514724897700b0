// Measures reading and listing with all files in the kernel's memory, so that only the daemon's own work counts.
#include <benchmark/benchmark.h>
#include <time.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "bench/source/files.h"
#include "daemon/base/fair_pool.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/files/bounds.h"

namespace {

using namespace spdld;
using source::FieldFetch;

constexpr size_t kFileBytes = 92'000;  // the mean of ImageNet-like pictures
constexpr unsigned kFiles = 200;

double cpu_us() {
  struct timespec now;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Pictures {
  Pictures() {
    bench::make_image_folder(temp.path() / "tree", 4, kFiles / 4, kFileBytes);
    bench::make_archive(temp.path() / "a.tar", kFiles, kFileBytes);
    folder = bench::list("image-folder", temp.path() / "tree");
    archive = bench::list("webdataset", temp.path() / "a.tar");
    bound = bench::list("image-folder", temp.path() / "tree");
    bound->set_bounds(std::make_shared<source::Bounds>(std::vector<source::Bounds::Folder>{{temp.path()}}));
  }
  bench::TempFolder temp;
  std::unique_ptr<source::Listing> folder, archive, bound;
};

// Samples of 100 bytes, for which the system calls are nearly all.
struct Tiny {
  static constexpr size_t kBytes = 100;
  Tiny() {
    bench::make_image_folder(temp.path() / "tree", 4, kFiles / 4, kBytes);
    bench::make_archive(temp.path() / "a.tar", kFiles, kBytes);
    std::ofstream(temp.path() / "a.bin", std::ios::binary) << std::string(kFiles * kBytes, 'p');
    folder = bench::list("image-folder", temp.path() / "tree");
    archive = bench::list("webdataset", temp.path() / "a.tar");
    config::SourceSpec spec;
    spec.type = "records";
    spec.uris = {(temp.path() / "a.bin").string()};
    spec.parameters = {{"record_bytes", static_cast<int64_t>(kBytes)}};
    records = source::open_listing(spec, {}, {});
  }
  bench::TempFolder temp;
  std::unique_ptr<source::Listing> folder, archive, records;
};

const Tiny& tiny() {
  static const Tiny all;
  return all;
}

const Pictures& pictures() {
  static const Pictures all;
  return all;
}

class Waiter final : public source::FetchObserver {
 public:
  void on_fetched(source::FetchRequest&) override {
    const std::scoped_lock lock(mutex_);
    done_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
    done_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

// ---- one request

enum class Way { kThread, kAtHand };

// A bound folder lies below a root, as data.roots has it.
enum class From { kFolder, kArchive, kBoundFolder };

void fetch(benchmark::State& state, From from, Way way, FieldFetch::Want want) {
  source::LocalFetcher fetcher(1);
  Waiter waiter;
  source::FetchRequest request;
  request.listing = from == From::kArchive  ? pictures().archive.get()
                    : from == From::kFolder ? pictures().folder.get()
                                            : pictures().bound.get();
  request.observer = &waiter;
  request.fields = {{}};
  const auto once = [&] {
    if (way == Way::kAtHand && fetcher.fetch_at_hand(request)) return;
    fetcher.fetch(request);
    waiter.wait();
  };
  once();  // identity is known from here on
  request.fields[0].want = want;
  if (want == FieldFetch::Want::kBytes) {
    for (request.sample = 0; request.sample < kFiles - 1; ++request.sample) once();
  }
  const double before_us = cpu_us();
  for (auto _ : state) {
    if (want == FieldFetch::Want::kBytes) request.sample = (request.sample + 1) % kFiles;
    once();
  }
  state.counters["cpu_us"] = (cpu_us() - before_us) / static_cast<double>(state.iterations());
  if (want == FieldFetch::Want::kBytes) {
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kFileBytes));
  }
}

BENCHMARK_CAPTURE(fetch, file, From::kFolder, Way::kThread, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, file_at_hand, From::kFolder, Way::kAtHand, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, archive, From::kArchive, Way::kThread, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, archive_at_hand, From::kArchive, Way::kAtHand, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, unchanged, From::kFolder, Way::kThread, FieldFetch::Want::kChanged)->UseRealTime();
BENCHMARK_CAPTURE(fetch, unchanged_at_hand, From::kFolder, Way::kAtHand, FieldFetch::Want::kChanged)->UseRealTime();
BENCHMARK_CAPTURE(fetch, bound_file, From::kBoundFolder, Way::kThread, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, bound_file_at_hand, From::kBoundFolder, Way::kAtHand, FieldFetch::Want::kBytes)->UseRealTime();
BENCHMARK_CAPTURE(fetch, bound_unchanged, From::kBoundFolder, Way::kThread, FieldFetch::Want::kChanged)->UseRealTime();

void fetch_tiny(benchmark::State& state, std::unique_ptr<source::Listing> Tiny::*from) {
  source::LocalFetcher fetcher(1);
  source::FetchRequest request;
  request.listing = (tiny().*from).get();
  request.fields = {{}};
  uint64_t lost = 0;
  const double before_us = cpu_us();
  for (auto _ : state) {
    request.sample = (request.sample + 1) % kFiles;
    lost += fetcher.fetch_at_hand(request) ? 0 : 1;
  }
  state.counters["cpu_us"] = (cpu_us() - before_us) / static_cast<double>(state.iterations());
  state.counters["lost"] = static_cast<double>(lost);
}

BENCHMARK_CAPTURE(fetch_tiny, file_at_hand, &Tiny::folder);
BENCHMARK_CAPTURE(fetch_tiny, member_at_hand, &Tiny::archive);
BENCHMARK_CAPTURE(fetch_tiny, record_at_hand, &Tiny::records);

// ---- the hand-over between the fetch threads and the decode threads

// As a pipeline's stream does it, with a fixed work on the bytes in place of decoding: two threads fetch, two decode,
// and as many samples are under way as a stream has with two.
class Flow final : public source::FetchObserver {
 public:
  enum class Reads { kOnce, kByThreads, kAtHand };

  explicit Flow(Reads reads) : reads_(reads) {
    for (uint64_t i = 0; i < kWindow; ++i) {
      Task& task = tasks_.emplace_back();
      task.flow = this;
      task.observer = this;
      task.listing = pictures().folder.get();
      task.fields = {{}};
      task.sample = i;
    }
  }
  // Lets `count` samples through; gives the CPU time of one in us.
  double pass(uint64_t count) {
    left_ = remaining_ = count;
    const double before_us = cpu_us();
    for (Task& task : tasks_) next(task);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return remaining_ == 0; });
    return (cpu_us() - before_us) / static_cast<double>(count);
  }

  void on_fetched(source::FetchRequest& request) override { pool_.submit(lane_, static_cast<Task&>(request)); }

 private:
  static constexpr uint64_t kWindow = 24;

  struct Task final : FairTask, source::FetchRequest {
    void run(unsigned) override { flow->process(*this); }
    Flow* flow = nullptr;
    bool fetched = false;
  };

  void next(Task& task) {
    {
      const std::scoped_lock lock(mutex_);
      if (left_ == 0) return;
      --left_;
    }
    task.sample = (task.sample + kWindow) % kFiles;
    const bool again = reads_ == Reads::kOnce && task.ok;
    if (again || reads_ == Reads::kAtHand) return pool_.submit(lane_, task);
    fetcher_.fetch(task);
  }

  void process(Task& task) {
    if (reads_ == Reads::kAtHand && !fetcher_.fetch_at_hand(task)) return fetcher_.fetch(task);
    uint32_t sum = 0;  // some 400 us
    for (int turn = 0; turn < 4; ++turn) {
      for (const uint8_t byte : task.bytes[0].bytes()) sum = sum * 31 + byte;
    }
    benchmark::DoNotOptimize(sum);
    next(task);
    const std::scoped_lock lock(mutex_);
    if (--remaining_ == 0) changed_.notify_one();
  }

  const Reads reads_;
  std::deque<Task> tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t left_ = 0, remaining_ = 0;  // under mutex_: to begin, to finish
  FairPool pool_{2};
  FairPool::Lane lane_{pool_};
  source::LocalFetcher fetcher_{2};
};

void hand_over(benchmark::State& state, Flow::Reads reads) {
  Flow flow(reads);
  flow.pass(200);
  double sum_us = 0;
  for (auto _ : state) sum_us += flow.pass(200);
  state.counters["cpu_us_sample"] = sum_us / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(hand_over, read_once, Flow::Reads::kOnce)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hand_over, by_threads, Flow::Reads::kByThreads)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hand_over, at_hand, Flow::Reads::kAtHand)->UseRealTime()->Unit(benchmark::kMillisecond);

// ---- listing

void listing(benchmark::State& state, bool kept) {
  const bench::TempFolder temp;
  bench::make_image_folder(temp.path() / "tree", static_cast<unsigned>(state.range(0)),
                           static_cast<unsigned>(state.range(1)), 0);
  for (const auto& entry : std::filesystem::directory_iterator(temp.path() / "tree")) {
    std::filesystem::last_write_time(entry.path(),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  const auto folder = kept ? temp.path() / "kept" : std::filesystem::path();
  bench::list("image-folder", temp.path() / "tree", folder);
  const double before_us = cpu_us();
  for (auto _ : state) benchmark::DoNotOptimize(bench::list("image-folder", temp.path() / "tree", folder));
  state.counters["cpu_us"] = (cpu_us() - before_us) / static_cast<double>(state.iterations());
}

BENCHMARK_CAPTURE(listing, afresh, false)->Args({10, 200})->Args({10, 1000})->UseRealTime();
BENCHMARK_CAPTURE(listing, kept, true)->Args({10, 200})->Args({10, 1000})->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
