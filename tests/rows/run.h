// Runs a pipeline of files, and takes down the tensors of all its samples, for tests of rows. One thread.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"
#include "daemon/rows/row_listing.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/opening/opening.h"

namespace spdld::test {

using Bytes = std::vector<uint8_t>;

inline config::PipelineSpec load_spec(const std::string& toml) {
  auto spec = config::load_pipeline_toml(toml, "test.toml");
  INFO(toml << spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

// As a node lists.
inline std::unique_ptr<source::Listing> list(const config::PipelineSpec& spec, const std::filesystem::path& kept = {},
                                             rows::IndexUse* use = nullptr) {
  const auto cutter = [&](const config::SourceSpec& source, std::unique_ptr<source::Listing> records) {
    return rows::list_rows(spec, source, std::move(records), {}, {}, kept, use);
  };
  return source::open_listings(spec.sources, {}, {}, kept, nullptr, {}, {},
                               spec.rows.is_on() ? source::Cutter(cutter) : source::Cutter());
}

class PipelineRun final : private pipeline::FillObserver {
 public:
  explicit PipelineRun(const config::PipelineSpec& spec, unsigned threads = 2)
      : pool_(threads),
        contexts_(pool_.runners()),
        pipeline(std::make_shared<pipeline::Pipeline>(
            spec, list(spec), 0.0,
            pipeline::Resources{.pool = pool_, .fetcher = fetcher_, .contexts = contexts_, .cache = cache_})) {
    pipeline->open_cache();
  }
  ~PipelineRun() { pipeline->close_cache(); }

  // The tensors of a rank's samples, by name, from `start` to the end of the last epoch. The padding of the epoch's end
  // is left out.
  using Samples = std::vector<std::map<std::string, Bytes>>;
  Samples take(sampler::Position start = {}, uint64_t rank = 0, uint64_t world_size = 1) {
    Samples all = run(start, rank, world_size);
    INFO(failure_);
    REQUIRE(failure_.empty());
    return all;
  }
  // Why the pipeline fails, before its first epoch has ended.
  std::string failed() {
    run({}, 0, 1);
    return failure_;
  }

 private:
  Samples run(sampler::Position start, uint64_t rank, uint64_t world_size) {
    const sampler::Sharding sharding(pipeline->samples(), pipeline->spec().batch, rank, world_size);
    const batch::Layout layout(pipeline->plan().tensors(), sharding.batch_size(), 1 << 20);
    batch::Slot slot{0, std::make_unique<memory::HostSlot>(layout.slot_bytes(), memory::Access::kWritable)};
    samples_.clear();
    quiet_ = filled_ = false;
    failure_.clear();
    layout_ = &layout;
    pipeline::Stream stream(pipeline, sharding, layout, 1, start, *this);
    while (failure_.empty() && stream.fill(slot)) {
      wait([this] { return filled_ || !failure_.empty(); });
      filled_ = false;
    }
    stream.stop();
    wait([this] { return quiet_; });
    return std::move(samples_);
  }

  void wait(const std::function<bool()>& for_what) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(60), for_what));
  }
  void note(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }
  void on_batch(const batch::Batch& batch) override {
    note([&] {
      for (uint64_t i = 0; i < batch.slice.count; i++) {
        auto& sample = samples_.emplace_back();
        for (size_t tensor = 0; tensor < layout_->tensors().size(); tensor++) {
          const uint8_t* at = layout_->sample_at(batch.slot->memory->fill_address(), tensor, i);
          const auto& place = layout_->tensors()[tensor];
          sample[place.name] = Bytes(at, at + place.sample_bytes);
        }
      }
      filled_ = true;
    });
  }
  void on_abandoned(batch::Slot&) override {}
  void on_failed(const Error& error) override {
    note([&] { failure_ = error.message; });
  }
  void on_quiet() override {
    note([&] { quiet_ = true; });
  }
  void on_wanting() override {}

  FairPool pool_;
  source::LocalFetcher fetcher_{2};
  std::vector<pipeline::DecodeContext> contexts_;
  cache::Cache cache_{cache::Settings{.ram_bytes_max = 64u << 20}};

 public:
  std::shared_ptr<pipeline::Pipeline> pipeline;

 private:
  const batch::Layout* layout_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool filled_ = false, quiet_ = false;  // under the mutex, as the following
  Samples samples_;
  std::string failure_;
};

inline int64_t integer_of(const std::map<std::string, Bytes>& sample, const std::string& name) {
  int64_t value = 0;
  REQUIRE(sample.at(name).size() == sizeof value);
  std::memcpy(&value, sample.at(name).data(), sizeof value);
  return value;
}

}  // namespace spdld::test
