// A stream over a data set in memory, and one who takes its batches.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"
#include "daemon/source/joined.h"
#include "tests/pipeline/fake_source.h"

namespace spdld::test {

struct Given {
  uint64_t samples = 20, batch_size = 4, epochs = 1;
  config::OnBad on_bad = config::OnBad::kSubstitute;
  std::optional<config::OnDrop> on_drop = {};
  uint64_t rank = 0, world_size = 1;
  bool shuffle = true;  // as `order` says
  config::OrderSpec order = {};
  config::LastBatch last = config::LastBatch::kShort;
  std::vector<uint64_t> archive_starts = {};
  bool at_hand = false;  // as the listing says it
  unsigned threads = 2;
  size_t slots = 3;
  uint64_t short_of_memory_at = UINT64_MAX;  // twice
  pipeline::Patience patience = {};
  std::shared_ptr<ByteBudget> budget = {};         // of its samples in flight; none: no bound
  std::shared_ptr<ByteBudget> memory = {};         // for decoding its samples; none: no bound
  uint64_t own_bytes = media::SampleMemory::kAll;  // of such memory, of each thread
  media::DecodeLimits limits = {};
  std::vector<uint8_t> content = {};             // of every sample's text; empty: the number
  std::vector<uint64_t> mixed = {};              // several sources of so many samples, in the place of `samples`
  std::vector<double> weights = {};              // of theirs; or none
  std::vector<config::OutputSpec> outputs = {};  // in the place of "value" and "label"; one is called "value"
  // In the place of the pipeline's own.
  std::function<std::unique_ptr<pipeline::Finisher>()> finisher = {};
  bool mixes = false;                            // neighbours, by mixup; with the tensor "partner"
  std::vector<batch::TensorPlace> further = {};  // of the batch, behind the plan's tensors
  std::vector<pipeline::StageMaker> more_stages = {};
  pipeline::DelegateMakers delegates = {};
  config::PythonSpec python = {};
  std::vector<config::SourceSpec> sources = {};  // in the place of fake ones
  std::function<std::unique_ptr<source::Listing>(const std::vector<config::SourceSpec>&)> list = {};  // lists them
  config::CacheForm cache = config::CacheForm::kAuto;
  source::Fetcher* fetcher = nullptr;       // in the place of a fake one
  uint64_t cache_bytes = 0;                 // in memory
  std::filesystem::path cache_folder = {};  // empty: no disk
};

inline config::PipelineSpec make_spec(const Given& given) {
  config::PipelineSpec spec;
  spec.name = "test";
  spec.seed = 5;
  spec.on_bad = given.on_bad;
  spec.on_drop = given.on_drop;
  spec.order = given.order;
  if (!given.shuffle) spec.order.shuffle = config::Shuffle::kOff;
  spec.order.epochs = given.epochs;
  spec.batch.size = given.batch_size;
  spec.batch.last = given.last;
  if (!given.mixed.empty()) spec.sources.resize(given.mixed.size());
  for (size_t i = 0; i < given.mixed.size(); i++) {
    spec.sources[i].name = "s" + std::to_string(i);
    if (!given.weights.empty()) spec.sources[i].weight = given.weights[i];
  }
  if (!given.sources.empty()) spec.sources = given.sources;
  spec.cache = given.cache;
  spec.outputs = {{"value", "text", {{"parse-int", {}, {}}}, {}}, {"label", "class", {}, {}}};
  if (!given.outputs.empty()) spec.outputs = given.outputs;
  spec.python = given.python;
  if (given.mixes) {
    config::BatchOperationSpec mixup;
    mixup.op = "mixup", mixup.images = {"vector"};
    mixup.parameters["alpha"] = 1.0;
    spec.batch.ops = {mixup};
    spec.batch.group = 2, spec.batch.partner = "partner";
    const config::Parameters one_hot = {{"classes", int64_t{7}}, {"smoothing", 0.0}, {"dtype", std::string("float32")}};
    spec.outputs.push_back({"vector", "class", {{"one-hot", one_hot, {}}}, {}});
  }
  return spec;
}

inline std::unique_ptr<source::Listing> make_listing(const Given& given) {
  if (given.list) return given.list(given.sources);
  std::vector<source::NamedListing> parts;
  for (size_t i = 0; i < given.mixed.size(); i++)
    parts.push_back({"s" + std::to_string(i), std::make_unique<FakeListing>(given.mixed[i])});
  if (!parts.empty()) return source::join_listings(std::move(parts));
  auto listing = std::make_unique<FakeListing>(given.samples, given.archive_starts);
  listing->run_short(given.short_of_memory_at, 2);
  listing->at_hand = given.at_hand;
  return listing;
}

struct Received {
  batch::Batch batch;
  std::vector<int64_t> values, ids;
  std::vector<uint8_t> mask;
  std::vector<int64_t> partners = {};  // where they are mixed
};

// A stream, its slots, and one who takes its news: batches are read and their slots filled again at once.
class Rig final : public pipeline::FillObserver {
 public:
  explicit Rig(const Given& given)
      : fetcher(given.threads),
        pool_(given.threads),
        contexts_(contexts_of(given, pool_.runners())),
        cache_(cache_settings(given)),
        pipeline(std::make_shared<pipeline::Pipeline>(
            make_spec(given), make_listing(given), 0.0,
            pipeline::Resources{.pool = pool_,
                                .fetcher = given.fetcher == nullptr ? fetcher : *given.fetcher,
                                .contexts = contexts_,
                                .cache = cache_,
                                .budget = given.budget,
                                .memory = given.memory,
                                .patience = given.patience,
                                .delegates = given.delegates,
                                .more_stages = given.more_stages})),
        sharding_(pipeline->samples(), pipeline->spec().batch, given.rank, given.world_size),
        layout_(with(pipeline->plan().tensors(), given.further), sharding_.batch_size(), 1 << 20),
        stream(std::make_unique<pipeline::Stream>(
            pipeline, sharding_, layout_, given.slots, sampler::Position{}, *this,
            given.finisher ? given.finisher() : pipeline::make_finisher(*pipeline, layout_))) {
    for (uint32_t i = 0; i < given.slots; i++)
      slots.push_back({i, std::make_unique<memory::HostSlot>(layout_.slot_bytes(), memory::Access::kWritable)});
    if (!given.content.empty()) fetcher.set_content(given.content);
  }
  ~Rig() {
    stream->stop();
    wait([this] { return quiet; });
  }

  void fill_all() {
    for (auto& slot : slots) stream->fill(slot);
  }

  // Waits for the next batch, reads it, and fills its slot again.
  Received take(bool refill = true) {
    batch::Batch batch;
    wait([this] { return !ready.empty(); });
    {
      std::lock_guard lock(mutex_);
      batch = ready.front();
      ready.pop_front();
    }
    Received received{batch, column("value", batch), column("sample_id", batch), {}};
    if (pipeline->plan().has_mask())
      for (uint64_t i = 0; i < batch.valid(); i++)
        received.mask.push_back(*layout_.sample_at(batch.slot->memory->fill_address(), index("mask"), i));
    if (!pipeline->spec().batch.ops.empty()) received.partners = column("partner", batch);
    if (refill) stream->fill(*batch.slot);
    return received;
  }

  // Precondition: all slots are being filled, or their batches are ready. Slots are free again once they have come
  // back: a sample that was on its way may still be written into one.
  void seek(uint32_t run, sampler::Position to) {
    stream->seek(run, to);
    tick_until([this] { return ready.size() + abandoned == slots.size(); });
    const std::lock_guard lock(mutex_);
    ready.clear();
    abandoned = 0;
  }

  // As a node does: ticks now and then. A sample that failed before the store came back may wait only after a tick.
  void tick_until(const std::function<bool()>& what) {
    for (int i = 0; i < 3000; i++) {
      {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, std::chrono::milliseconds(10), what)) return;
      }
      stream->tick();
    }
    FAIL("nothing came within 30 s");
  }
  void tick_until_ready() {
    tick_until([this] { return !ready.empty(); });
  }

  void wait(const std::function<bool()>& for_what) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), for_what));
  }

  FakeFetcher fetcher;

 private:
  FairPool pool_;
  std::vector<pipeline::DecodeContext> contexts_;
  cache::Cache cache_;

 public:
  std::shared_ptr<pipeline::Pipeline> pipeline;
  std::vector<batch::Slot> slots;
  std::deque<batch::Batch> ready;  // guarded by mutex_, as are the following
  size_t abandoned = 0;
  std::string failure;
  bool quiet = false;

 private:
  static std::vector<pipeline::DecodeContext> contexts_of(const Given& given, unsigned runners) {
    std::vector<pipeline::DecodeContext> contexts;
    for (unsigned i = 0; i < runners; i++) contexts.emplace_back(given.limits, given.own_bytes);
    return contexts;
  }
  static cache::Settings cache_settings(const Given& given) {
    cache::Settings settings;
    settings.ram_bytes_max = given.cache_bytes;
    settings.folder = given.cache_folder;
    if (!given.cache_folder.empty()) settings.disk_bytes_max = 64 << 20;
    return settings;
  }
  static std::vector<batch::TensorPlace> with(std::vector<batch::TensorPlace> tensors,
                                              const std::vector<batch::TensorPlace>& further) {
    tensors.insert(tensors.end(), further.begin(), further.end());
    return tensors;
  }
  size_t index(const std::string& name) const {
    for (size_t i = 0; i < layout_.tensors().size(); i++)
      if (layout_.tensors()[i].name == name) return i;
    FAIL("no tensor " << name);
    return 0;
  }
  std::vector<int64_t> column(const std::string& name, const batch::Batch& batch) const {
    std::vector<int64_t> values(batch.valid());
    for (uint64_t i = 0; i < batch.valid(); i++)
      std::memcpy(&values[i], layout_.sample_at(batch.slot->memory->fill_address(), index(name), i), 8);
    return values;
  }
  void on_batch(const batch::Batch& batch) override {
    note([&] { ready.push_back(batch); });
  }
  void on_abandoned(batch::Slot&) override {
    note([&] { abandoned++; });
  }
  void on_failed(const Error& error) override {
    note([&] { failure = error.message; });
  }
  void on_quiet() override {
    note([&] { quiet = true; });
  }
  void on_wanting() override {}
  void note(const std::function<void()>& what) {
    // Under the lock to the end: whoever sees the news may end this object.
    std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }

  sampler::Sharding sharding_;
  batch::Layout layout_;
  std::mutex mutex_;
  std::condition_variable changed_;

 public:
  std::unique_ptr<pipeline::Stream> stream;
};

inline std::vector<int64_t> tenfold(const std::vector<int64_t>& ids) {
  std::vector<int64_t> values;
  for (int64_t id : ids) values.push_back(10 * id);
  return values;
}

}  // namespace spdld::test
