// The pipelines that are open on this node, or being opened: listing a data set may take minutes and happens on a
// thread of its own, while everybody who wants the pipeline waits and hears of the progress. A pipeline stays open for
// a while after its last trainer has left, so that the next one starts at once. Control thread only.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/spec.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/result.h"
#include "daemon/node/cpu_share.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/source/bounds.h"
#include "daemon/source/listing.h"

namespace spdld::node {

// Told to those who wait for a pipeline.
struct Opening {
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> on_progress;  // as of source::Progress
  std::function<void(const Result<std::shared_ptr<pipeline::Pipeline>>&)> on_open;
};

// Who opens a pipeline, and what holds for that.
struct Opener {
  uid_t uid = 0;
  bool named = false;       // it is the operator's pipeline
  size_t per_user_max = 0;  // of the specs that this uid sends, in use at once
  std::vector<std::filesystem::path> within = {};  // its files must lie in one of these; empty: anywhere
};

class Pipelines {
 public:
  static constexpr uint64_t kIdleNsMax = 600ull * 1'000'000'000;
  static constexpr size_t kIdleMax = 8;
  static constexpr unsigned kListingThreads = 2;
  static constexpr double kSentWeightMax = 1;  // of a spec of another user's than the owner: what a plain pipeline has

  struct Entry {
    std::string key;         // whose it is and what it is
    std::string shown_name;  // unique among the open ones: a second "train" is "train#2"
    config::PipelineSpec spec;
    std::shared_ptr<const source::Bounds> bounds;  // of its files; none: anywhere
    uid_t uid = 0;
    bool named = false;                            // the operator's
    std::shared_ptr<pipeline::Pipeline> pipeline;  // none while it is being listed for the first time
    bool listing = false;                          // or looking whether the listing still holds
    std::vector<Opening> waiting;
    std::string_view listed_what;  // of the listing that is being made, as the next two
    uint64_t listed = 0, to_list = 0;
    source::KeptUse kept;        // of the listing that it has
    uint64_t idle_since_ns = 0;  // 0: in use
    CpuShare cpu_share;

    bool is_in_use() const { return listing || !idle_since_ns; }
  };

  Pipelines(EventLoop& loop, const pipeline::Resources& resources);
  ~Pipelines();  // stops what is being listed

  // `opening.on_open` is called on the control thread: at once where the pipeline is open, never where the daemon stops
  // first. kLimit: this uid has `per_user_max` pipelines in use already.
  Status open(const config::PipelineSpec& spec, const Opener& opener, Opening opening);
  // Lets go of what the cache keeps of idle pipelines, but for those that a stopping feed still fills.
  void release_caches(const std::function<bool(const pipeline::Pipeline&)>& is_stopping);
  // Called when a pipeline's feeds have come or gone.
  void set_in_use(const pipeline::Pipeline& pipeline, bool in_use);
  // What the operator says in place of a named pipeline's own cpu_weight, from now on.
  void set_weights(std::map<std::string, double> weights);
  double weight_of(const Entry& entry) const;
  // Called at every tick, for the reports.
  void note_cpu(uint64_t all_busy_ns);
  // Closes those that are idle for long, or too many.
  void close_idle();
  void close_all();

  const std::map<std::string, std::unique_ptr<Entry>>& entries() const { return entries_; }
  const Entry* find(const pipeline::Pipeline& pipeline) const;

 private:
  struct ToList {
    std::string key;
    config::PipelineSpec spec;
    std::shared_ptr<const source::Bounds> bounds;
    std::shared_ptr<pipeline::Pipeline> held;  // whose listing may still hold
  };
  // Either: the pipeline, listed, and with what the cache keeps of it; or why not.
  using Outcome = Result<std::shared_ptr<pipeline::Pipeline>>;

  // Of an entry that is there: at once, or when it is listed.
  Status wait_for(Entry& entry, Opening opening);
  size_t count_in_use(uid_t uid) const;  // of the specs that this user sent
  void list(Entry& entry);
  void listing_thread(const std::stop_token& stop);
  Outcome list_now(const ToList& what, const std::stop_token& stop);
  std::shared_ptr<pipeline::Pipeline> list_anew(const ToList& what, const std::stop_token& stop);
  void on_listed(const std::string& key, const Outcome& outcome);

  EventLoop& loop_;
  const pipeline::Resources resources_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  std::map<std::string, double> weights_;  // the operator's, by name

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<ToList> to_list_;  // guarded by mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace spdld::node
