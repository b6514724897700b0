// Measures what a stream itself costs: samples of 1 KiB that lie in the cache's memory and need no more than a copy
// (pad-bytes), so that nearly all of the time goes into the way of a sample.
//
// Prints for each number of decode threads the CPU time of a sample and the samples in a second. Rounds are short and
// take turns, so that a machine with other work gives figures that can be compared. Threads that do not run at the same
// time do not hinder one another either: only whole rounds count, in which every thread had nine tenths of a core. The
// median of their CPU times is printed, and the rate of the best whole round. The trainer needs a core as well, for
// some microseconds a batch: batches are large, so that it takes little from the decode threads where there are two
// cores.
//
//   tiny_samples [--threads 1,2] [--rounds 400] [--round-ms 20] [--samples 16384] [--batch 1024] [--bytes 1024]
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"

namespace {

using namespace spdld;

struct Options {
  std::vector<unsigned> threads = {1, 2};
  uint64_t rounds = 400, round_ms = 20, samples = 16384, batch = 1024, bytes = 1024;
};

class TinyListing final : public source::Listing {
 public:
  explicit TinyListing(uint64_t size) : size_(size) {}
  std::span<const uint64_t> archive_starts() const override { return {}; }
  uint64_t size() const override { return size_; }
  std::span<const source::Field> fields() const override { return fields_; }
  store::Locator locate(uint64_t, source::FieldId) const override { return {"x", 0, -1, {}}; }
  int64_t integer(uint64_t, source::FieldId) const override { return 0; }
  std::string name(uint64_t sample) const override { return std::to_string(sample); }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override { return 0; }
  std::span<const std::string> classes() const override { return {}; }
  bool unchanged() const override { return true; }

 private:
  const uint64_t size_;
  const std::vector<source::Field> fields_ = {{"text", source::FieldKind::kFetched}};
  const std::string fingerprint_ = "00000000000000000000000000000000";
};

// Gives every sample the same bytes at once: only the first epoch asks for them.
class TinyFetcher final : public source::Fetcher {
 public:
  explicit TinyFetcher(uint64_t bytes) : bytes_(bytes) {}
  void fetch(source::FetchRequest& request) override {
    request.bytes.resize(request.fields.size());
    for (auto& bytes : request.bytes) std::memset(bytes.resize(bytes_), 'a', bytes_);
    request.ok = true;
    request.observer->on_fetched(request);
  }

 private:
  const uint64_t bytes_;
};

config::PipelineSpec spec_of(const Options& options) {
  config::PipelineSpec spec;
  spec.name = "tiny";
  spec.cache = config::CacheForm::kEncoded;
  spec.order.epochs = 0;
  spec.batch.size = options.batch;
  spec.outputs = {{"text", "text", {{"pad-bytes", {{"length", static_cast<int64_t>(options.bytes)}}, {}}}, {}}};
  return spec;
}

// One rank's ring and its trainer: a slot is filled again as soon as its batch is there.
class Trainer final : public pipeline::FillObserver {
 public:
  static constexpr size_t kSlots = 8;
  static constexpr double kWhole = 0.9;

  Trainer(const Options& options, unsigned threads)
      : threads_(threads),
        fetcher_(options.bytes),
        pool_(threads),
        contexts_(pool_.runners()),
        pipeline_(std::make_shared<pipeline::Pipeline>(
            spec_of(options), std::make_unique<TinyListing>(options.samples), 0.0,
            pipeline::Resources{.pool = pool_, .fetcher = fetcher_, .contexts = contexts_, .cache = cache_})),
        sharding_(pipeline_->samples(), pipeline_->spec().batch, 0, 1),
        layout_(pipeline_->plan().tensors(), sharding_.batch_size(), 1 << 30) {
    pipeline_->open_cache();
    stream_ = std::make_unique<pipeline::Stream>(pipeline_, sharding_, layout_, kSlots, sampler::Position{}, *this);
    for (uint32_t i = 0; i < kSlots; i++)
      slots_.push_back({i, std::make_unique<memory::HostSlot>(layout_.slot_bytes(), memory::Access::kWritable)});
    for (auto& slot : slots_) stream_->fill(slot);
    take(3 * options.samples);  // the cache is filled, and the threads are warm
  }
  ~Trainer() {
    stream_->stop();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return quiet_; });
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  unsigned threads() const { return threads_; }

  // Takes batches until so many samples have come.
  uint64_t take(uint64_t samples) {
    uint64_t taken = 0;
    std::deque<batch::Batch> ready;
    while (taken < samples) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !ready_.empty(); });
        ready.swap(ready_);
      }
      for (const batch::Batch& batch : ready) {
        taken += batch.slice.count;
        stream_->fill(*batch.slot);
      }
      ready.clear();
    }
    return taken;
  }

  // Of whole rounds.
  std::vector<double> cpu_ns;  // a sample
  double per_s_most = 0;

  void measure(uint64_t round_ms) {
    const uint64_t start_ns = monotonic_ns(), cpu_start_ns = decode_cpu_ns();
    uint64_t taken = 0;
    while (monotonic_ns() - start_ns < round_ms * 1'000'000) taken += take(1);
    const auto took_ns = static_cast<double>(monotonic_ns() - start_ns);
    const auto used_ns = static_cast<double>(decode_cpu_ns() - cpu_start_ns);
    if (used_ns < kWhole * threads_ * took_ns) return;
    cpu_ns.push_back(used_ns / static_cast<double>(taken));
    per_s_most = std::max(per_s_most, static_cast<double>(taken) * 1e9 / took_ns);
  }

 private:
  // Of all threads but the trainer's.
  static uint64_t decode_cpu_ns() { return process_cpu_ns() - thread_cpu_ns(); }

  void on_batch(const batch::Batch& batch) override {
    const std::lock_guard lock(mutex_);
    ready_.push_back(batch);
    changed_.notify_one();
  }
  void on_abandoned(batch::Slot&) override {}
  void on_failed(const Error& error) override {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    std::_Exit(1);
  }
  void on_quiet() override {
    const std::lock_guard lock(mutex_);
    quiet_ = true;
    changed_.notify_one();
  }
  void on_wanting() override {}

  const unsigned threads_;
  TinyFetcher fetcher_;
  FairPool pool_;
  std::vector<pipeline::DecodeContext> contexts_;
  cache::Cache cache_{cache::Settings{.ram_bytes_max = 1ull << 30}};
  std::shared_ptr<pipeline::Pipeline> pipeline_;
  sampler::Sharding sharding_;
  batch::Layout layout_;
  std::vector<batch::Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<batch::Batch> ready_;
  bool quiet_ = false;
  std::unique_ptr<pipeline::Stream> stream_;
};

std::vector<unsigned> numbers(const char* text) {
  std::vector<unsigned> all;
  for (const char* at = text; *at;) {
    char* end = nullptr;
    all.push_back(static_cast<unsigned>(std::strtoul(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
    if (end == text || all.back() == 0) return {};
  }
  return all;
}

bool read_options(int argc, char** argv, Options& options) {
  const std::map<std::string, uint64_t*> sizes = {{"--rounds", &options.rounds},
                                                  {"--round-ms", &options.round_ms},
                                                  {"--samples", &options.samples},
                                                  {"--batch", &options.batch},
                                                  {"--bytes", &options.bytes}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--threads") {
      options.threads = numbers(argv[i + 1]);
      if (options.threads.empty()) return false;
    } else if (const auto at = sizes.find(name); at != sizes.end()) {
      *at->second = std::strtoull(argv[i + 1], nullptr, 10);
      if (*at->second == 0) return false;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: tiny_samples [--threads 1,2] [--rounds 400] [--round-ms 20] [--samples 16384] [--batch 1024] "
                 "[--bytes 1024]\n");
    return 1;
  }
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const unsigned threads : options.threads) trainers.push_back(std::make_unique<Trainer>(options, threads));
  // While one trainer measures, the others' slots are full and their threads sleep.
  for (uint64_t round = 0; round < options.rounds; round++)
    for (auto& trainer : trainers) trainer->measure(options.round_ms);
  std::printf("threads  whole rounds  CPU us/sample  least  M samples/s  times the first\n");
  double first = 0;
  for (const auto& trainer : trainers) {
    auto& cpu_ns = trainer->cpu_ns;
    if (cpu_ns.empty()) {
      std::printf("%7u  %12d  the machine has too much other work\n", trainer->threads(), 0);
      continue;
    }
    std::sort(cpu_ns.begin(), cpu_ns.end());
    const double median_ns = cpu_ns[cpu_ns.size() / 2];
    if (first == 0) first = 1 / median_ns;
    std::printf("%7u  %12zu  %13.3f  %5.3f  %11.3f  %15.2f\n", trainer->threads(), cpu_ns.size(), median_ns * 1e-3,
                cpu_ns.front() * 1e-3, trainer->per_s_most * 1e-6, trainer->threads() / median_ns / first);
  }
}
