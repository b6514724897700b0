// A spec with its data set listed, shared by all streams of a pipeline (every group, every rank). Constant, except its
// statistics and its cache shelves; any thread. Destroyed on the control thread, after its streams.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/size_schedule.h"
#include "config/spec.h"
#include "daemon/base/byte_budget.h"
#include "daemon/base/fair_pool.h"
#include "daemon/base/statistics.h"
#include "daemon/base/system/cpu.h"
#include "daemon/base/trace.h"
#include "daemon/pipeline/delegate.h"
#include "daemon/pipeline/error_log.h"
#include "daemon/pipeline/forms/caching.h"
#include "daemon/pipeline/order/choice.h"
#include "daemon/pipeline/order/orders.h"
#include "daemon/pipeline/plan.h"
#include "daemon/pipeline/pool_stage.h"
#include "daemon/pipeline/stage.h"
#include "daemon/sampler/mix.h"
#include "daemon/sampler/sharding.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::pipeline {

// How long a sample waits for something that should pass before its stream fails. Each wait of a sample is measured
// from its own beginning: what the task waited for before, for this sample or for another one, does not count.
struct Patience {
  uint64_t fault_ns_max = 300ull * 1'000'000'000;  // for a source that is down
  uint64_t memory_ns_max = 30ull * 1'000'000'000;  // for memory
  uint64_t (*now_ns)() = monotonic_ns;             // another clock is for tests
};

// Resources that the node lends to every pipeline; they outlive all pipelines.
struct Resources {
  FairPool& pool;
  source::Fetcher& fetcher;
  std::vector<DecodeContext>& contexts;  // one for each of the pool's runners
  cache::Cache& cache;
  uint32_t fetch_max = 0;                   // the most reads at once
  uint64_t fetch_owner = 0;                 // whose turn the reads take (FetchRequest::owner)
  std::shared_ptr<ByteBudget> budget = {};  // of the pipeline, for its samples in flight; none: no bound
  std::shared_ptr<ByteBudget> memory = {};  // of the pipeline, for what decoding takes; none: no bound
  std::filesystem::path listings = {};      // where listings outlive the daemon; empty: nowhere
  Patience patience = {};
  DelegateMakers delegates = {};             // of executors that have operations
  std::vector<StageMaker> more_stages = {};  // behind the decoding
};

struct PipelineStatistics {
  Counter batches, samples;             // handed to rings
  Counter substituted, masked, absent;  // samples
  // Samples found so, substitutes as well. The last two are left out, and are no bad content.
  Counter damaged, unsupported, too_long, dropped;
  Counter& found_as(batch::FlawKind kind) {
    switch (kind) {
      case batch::FlawKind::kUnsupported:
        return unsupported;
      case batch::FlawKind::kTooLong:
        return too_long;
      case batch::FlawKind::kDropped:
        return dropped;
      case batch::FlawKind::kDamaged:
        break;
    }
    return damaged;
  }
  // Samples whose fetch is to be tried again, and samples whose fetch is tried again: above 0 the pipeline is degraded.
  Gauge waiting_out_faults, asked_again;
  Gauge waiting_for_memory;  // samples that are tried again because the node was short of memory: the same
  Counter memory_waits;      // how often a sample had to wait for memory
};

// The parts of a training run's fingerprint (PROTOCOL.md, "Fingerprints").
struct FingerprintParts {
  std::string code;     // as Plan::code()
  std::string samples;  // as Choice::fingerprint, with '_' and Plan::side_digits() behind it where there are any
  std::string spec;     // as config::canonical_json()
  uint64_t global_size = 0;
  std::string weights;        // as Choice::weights_fingerprint
  std::string division = {};  // of last steps that are evened: "2", or "2b" of buckets
};
// "<order version>.<code>-<samples>-<spec>-<global size>", in hexadecimal, with ".<division>" after it where there is
// one, and "-<weights>" where samples are weighted.
std::string fingerprint_of(const FingerprintParts& parts);
// The keys that count in a fingerprint, each with a digest (proto/key_digests.h). Where there are too many for one
// text, those with the most steps are told together.
std::string key_digests_of(const config::PipelineSpec& spec);

class Pipeline {
 public:
  // Reads the lists of samples that the spec names, which may take seconds. Throws SetupError where the spec does not
  // fit the listing.
  Pipeline(config::PipelineSpec spec, std::unique_ptr<source::Listing> listing, double listing_s,
           const Resources& resources, const std::stop_token& stop = {});

  const config::PipelineSpec& spec() const { return spec_; }
  const source::Listing& listing() const { return *listing_; }
  const sampler::Mix& mix() const { return choice_.mix; }
  // Remarks on the data set: the listing's remarks, and remarks on samples that lack a field.
  source::Remarks remarks() const;
  uint64_t missing_count() const { return listing_->missing_count() + choice_.lacking.missing().count; }
  // Whether an epoch is one pass through a single source. Then orders() gives its order; else a MixReader gives it.
  bool is_plain() const { return mix().sources().size() == 1 && samples() == mix().sources().front().order.size(); }
  // The buckets of an order by cost, whose batches are bounded by cost, or of an order by shape; null: it has none.
  const sampler::Buckets* buckets() const { return mix().sources().front().order.buckets(); }
  bool is_by_shape() const { return buckets() != nullptr && buckets()->is_by_shape(); }
  // The number of the shape of a batch with these samples.
  uint32_t shape_of(sampler::Position position, const sampler::Slice& slice) const {
    if (!schedule_.empty()) return config::scheduled_at(schedule_, position.epoch);
    return is_by_shape() ? buckets()->list()[buckets()->bucket_at(slice.of.first)].shape : 0;
  }
  // The part of an epoch's samples that a rank takes, in steps of `batch` where they are bounded by their size. Throws
  // SetupError where there is no such part.
  sampler::Sharding sharding(const config::BatchSpec& batch, uint64_t rank, uint64_t world_size) const;
  Orders& orders() { return orders_; }
  uint64_t samples() const { return mix().epoch_samples(); }  // of an epoch
  // Whether the listed files, the lists of samples and the files that operations have read are unchanged. Asks the file
  // system.
  bool unchanged() const {
    return listing_->unchanged() && choice_.lists.unchanged() && plan_.side_files().unchanged();
  }
  const Plan& plan() const { return plan_; }
  // open_cache() opens the pipeline's cache shelves, on a listing thread, before its first stream. close_cache() lets
  // go of them, after its last stream.
  void open_cache() { caching_.open(*listing_, mix(), plan_.fetched(), resources_.fetcher); }
  void close_cache() { caching_.close(); }
  const Caching& caching() const { return caching_; }
  const Resources& resources() const { return resources_; }
  double listing_s() const { return listing_s_; }
  FairPool::Lane& lane() { return lane_; }
  const FairPool::Lane& lane() const { return lane_; }
  // The memory of what an errand takes and gives.
  media::ScratchMemory& scratch_of(const Errand& errand) const {
    return delegates_.find(errand.executor)->second->scratch();
  }
  // Other executors work for it, which may be lent its slots.
  bool has_delegates() const { return !delegates_.empty(); }
  // Nothing is written into the slot any more, until a stream fills it anew.
  void end_lending(const memory::SlotMemory& slot) const {
    for (const auto& [executor, delegate] : delegates_) delegate->end_lending(slot);
  }
  // The way of each of its samples, from first to last.
  const Stages& stages() const { return stages_; }
  PipelineStatistics& statistics() { return statistics_; }
  const PipelineStatistics& statistics() const { return statistics_; }
  // The pipeline's number for trace::note(), and a number for each batch that some stream begins.
  uint64_t subject() const { return subject_; }
  uint64_t next_batch() { return last_batch_.fetch_add(1, std::memory_order_relaxed) + 1; }
  ErrorLog& errors() { return errors_; }
  const ErrorLog& errors() const { return errors_; }

  // Names everything that decides the bytes at a position, for a position token and for ranks to compare. differs()
  // says in words in which parts two fingerprints differ: "the pipeline's spec differs"; and in which keys, where the
  // digests of both are known: " (seed has another value)".
  std::string fingerprint(uint64_t global_size, const std::string& division = {}) const;
  std::string fingerprint(const sampler::Sharding& sharding) const;
  const std::string& key_digests() const { return key_digests_; }  // key_digests_of() its spec
  static std::string differs(const std::string& mine, const std::string& theirs, std::string_view my_digests = {},
                             std::string_view their_digests = {});

 private:
  using Delegates = std::map<std::string, std::unique_ptr<Delegate>, std::less<>>;  // by executor
  Delegates make_delegates() const;
  Stages make_stages();
  struct FirstStage {
    StageAccount account;
    // Each hands on to the one before, and the first one to the node's.
    std::vector<std::unique_ptr<source::Fetcher>> makers;
  };
  FirstStage make_first() const;
  void add_turn(size_t turn, const PoolStage::Uses& uses, Stages& stages);

  const config::PipelineSpec spec_;
  const std::string key_digests_;
  const std::vector<config::ScheduledSize> schedule_;  // of the pictures' sizes; empty: they have one in all epochs
  const std::unique_ptr<source::Listing> listing_;
  const double listing_s_;
  const Plan plan_;
  const Choice choice_;
  const Resources resources_;
  Caching caching_;
  PipelineStatistics statistics_;
  const uint64_t subject_ = trace::new_subject();
  std::atomic<uint64_t> last_batch_{0};
  ErrorLog errors_;
  Orders orders_;
  FairPool::Lane lane_;
  const Delegates delegates_;
  const FirstStage first_;
  const Stages stages_;  // last: they use the rest
};

}  // namespace spdld::pipeline
