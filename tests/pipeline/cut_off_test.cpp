// Samples that are cut off while they are decoded: they take too long, or nobody wants them any more. A clock that the
// test moves takes the place of the threads' CPU time.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>

#include "config/checks/load.h"
#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::cut_off_test {

namespace {

std::atomic<uint64_t> reads{0}, step_ns{0};
std::function<void()> on_read;
uint64_t cpu_of_reads_ns() {
  const uint64_t number = ++reads;
  if (on_read) on_read();
  return 1 + number * step_ns;
}

config::PipelineSpec spec_of(const std::filesystem::path& folder) {
  auto spec = config::load_pipeline_toml(
      "name = \"dear\"\ncache = \"off\"\non_bad = \"mask\"\n[source]\ntype = \"image-folder\"\nuri = \"" +
          folder.string() +
          "\"\nextensions = \"png\"\n[batch]\nsize = 1\n[[output]]\nname = \"image\"\nfrom = \"image\"\nops = "
          "[{ op = \"decode-image\" }, { op = \"resize\", size = [2000, 2000] }, "
          "{ op = \"gaussian-blur\", kernel_size = 31 }, { op = \"center-crop\", size = 8 }]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

std::vector<pipeline::DecodeContext> contexts_of(unsigned count, const media::DecodeLimits& limits) {
  std::vector<pipeline::DecodeContext> contexts;
  for (unsigned i = 0; i < count; ++i) contexts.emplace_back(limits);
  return contexts;
}

// A stream over one small picture that becomes large.
class Rig final : public pipeline::FillObserver {
 public:
  explicit Rig(uint64_t ms_max)
      : contexts_(contexts_of(pool_.runners(), {.cpu_ms_max = ms_max, .cpu_ns = cpu_of_reads_ns})) {
    const auto made = test::make_png(40, 30);
    std::filesystem::create_directories(folder_.path() / "0");
    std::ofstream(folder_.path() / "0/0.png", std::ios::binary)
        .write(reinterpret_cast<const char*>(made.bytes.data()), static_cast<std::streamsize>(made.bytes.size()));
    const auto spec = spec_of(folder_.path());
    pipeline = std::make_shared<pipeline::Pipeline>(
        spec, source::open_listing(spec.sources[0], {}, {}), 0.0,
        pipeline::Resources{.pool = pool_, .fetcher = fetcher_, .contexts = contexts_, .cache = cache_});
    const sampler::Sharding sharding(pipeline->samples(), pipeline->spec().batch, 0, 1);
    layout_.emplace(pipeline->plan().tensors(), sharding.batch_size(), 1 << 20);
    slot_.emplace(batch::Slot{0, std::make_unique<memory::HostSlot>(layout_->slot_bytes(), memory::Access::kWritable)});
    stream = std::make_unique<pipeline::Stream>(pipeline, sharding, *layout_, 1, sampler::Position{}, *this);
  }
  ~Rig() {
    stream->stop();
    wait([this] { return quiet; });
  }

  void fill() { stream->fill(*slot_); }
  void wait(const std::function<bool()>& for_what) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), for_what));
  }
  void note(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }

  bool filled = false, abandoned = false, quiet = false, looked = false;
  size_t masked = 0;

 private:
  void on_batch(const batch::Batch& batch) override {
    note([&] { filled = true, masked = batch.masked.size(); });
  }
  void on_abandoned(batch::Slot&) override {
    note([&] { abandoned = true; });
  }
  void on_failed(const Error& error) override { FAIL(error.message); }
  void on_quiet() override {
    note([&] { quiet = true; });
  }
  void on_wanting() override {}

  test::TempDir folder_;
  FairPool pool_{1};
  source::LocalFetcher fetcher_{1};
  std::vector<pipeline::DecodeContext> contexts_;
  cache::Cache cache_{cache::Settings{}};
  std::optional<batch::Layout> layout_;
  std::optional<batch::Slot> slot_;
  std::mutex mutex_;
  std::condition_variable changed_;

 public:
  std::shared_ptr<pipeline::Pipeline> pipeline;  // they end before what they use
  std::unique_ptr<pipeline::Stream> stream;
};

}  // namespace

TEST_CASE("a sample whose operations take too much CPU time is bad content, and says why") {
  on_read = nullptr, reads = 0, step_ns = 100'000'000;
  Rig rig(450);
  rig.fill();
  rig.wait([&] { return rig.filled; });
  CHECK(rig.masked == 1);
  REQUIRE(rig.pipeline->errors().entries().size() == 1);
  const std::string reason = rig.pipeline->errors().entries().front().reason;
  CHECK(reason.find("takes more CPU time than the operator's limit of 450 ms for a sample (limits.sample_ms_max)") !=
        std::string::npos);
  CHECK(rig.pipeline->stages().back()->statistics().failures.value() == 1);
}

TEST_CASE("a sample that nobody wants any more is cut off at its next look, and counts as no failure") {
  const bool seeks = GENERATE(true, false);
  reads = 0, step_ns = 0;
  Rig rig(1000);
  std::atomic<bool> may_go_on{false}, told{false};
  on_read = [&] {  // the decoding thread stands here, in the middle of the sample, until nobody wants it
    if (!told.exchange(true)) rig.note([&] { rig.looked = true; });
    while (!may_go_on) std::this_thread::yield();
  };
  rig.fill();
  rig.wait([&] { return rig.looked; });
  if (seeks)
    rig.stream->seek(1, {});
  else
    rig.stream->stop();
  const uint64_t before = reads;
  may_go_on = true;
  rig.wait([&] { return rig.abandoned; });
  CHECK(reads == before);
  CHECK(rig.pipeline->stages().back()->statistics().failures.value() == 0);
  CHECK(rig.pipeline->errors().total() == 0);
  CHECK_FALSE(rig.filled);
  on_read = nullptr;
}

}  // namespace spdld::cut_off_test
