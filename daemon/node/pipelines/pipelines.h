// The pipelines that are open on this node, or being opened: listing a data set may take minutes and happens on a
// thread of its own. Meanwhile every client that wants the pipeline waits and hears of the progress. A pipeline stays
// open for a while after its last trainer has left, so that the next one starts at once. Control thread only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/base/byte_budget.h"
#include "daemon/base/result.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/base/system/memory_charge.h"
#include "daemon/node/access/access.h"
#include "daemon/node/pipelines/cpu_share.h"
#include "daemon/node/pipelines/listing_queue.h"
#include "daemon/node/pipelines/listing_work.h"
#include "daemon/node/settings/defaults.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/source/files/bounds.h"
#include "daemon/source/listing.h"
#include "daemon/store/remote/remote_stores.h"

namespace spdld::node {

// The callbacks of a client that waits for a pipeline.
struct Opening {
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> on_progress;  // as of source::Progress
  std::function<void(const Result<std::shared_ptr<pipeline::Pipeline>>&)> on_open;
  // Whether the client is still there. A listing that nobody waits for ends. None: somebody always is.
  std::function<bool()> is_wanted = {};
};

// The user who opens a pipeline, and the rules for that user.
struct Opener {
  uid_t uid = 0;
  std::string named_as = {};                        // the name of one of the operator's pipelines; empty: it was sent
  size_t per_user_max = 0;                          // the most specs of this uid in use at once
  uint64_t side_bytes_max = UINT64_MAX;             // of memory that operations of this uid's specs may keep files in
  std::vector<source::Bounds::Folder> within = {};  // the folders in which its files must lie; empty: anywhere
  AllowedUris stores = {};                          // its remote objects
  bool looks = false;                               // as AttachRequest::looks
};

class Pipelines {
 public:
  static constexpr uint64_t kIdleNsMax = 600ull * 1'000'000'000;
  static constexpr size_t kIdleMax = 8;
  static constexpr uint64_t kLooksIdleNsMax = 60ull * 1'000'000'000;
  static constexpr unsigned kListingThreads = 4;
  static constexpr double kSentWeightMax = 1;     // of other users' specs: the weight of a plain pipeline
  static constexpr double kLooksWeightMax = 0.1;  // of what is there for looking alone

  struct Limits {
    // Listings of a user under way at once, and how long one of what a user sent may take (0: any time). They bind
    // neither root nor the daemon's user.
    size_t listings_per_user_max = 0;
    uint32_t listing_s_max = 0;
    ListingMax listing = {.node_bytes = UINT64_MAX, .user_bytes = UINT64_MAX};  // of memory
    // A user's share of these two binds what the user sent, all of it together.
    InFlightMax in_flight;  // of samples
    LentMax memory;         // for decoding samples
  };

  struct Entry {
    std::string key;         // the owner and the spec
    uint64_t number = 0;     // of the entries so far; no later entry has the same
    std::string shown_name;  // unique among open pipelines: a second "train" is "train#2"
    config::PipelineSpec spec;
    source::Places places;  // where its files and objects must lie
    uid_t uid = 0;
    // Nobody trains with it: it stands beside the pipeline of the same spec that trainers have, keeps nothing in the
    // cache, and is in no list and no statistic.
    bool looks = false;
    // The operator's name for it, which the table of access has; its own spec may say another. Empty: it was sent.
    std::string named_as;
    std::shared_ptr<pipeline::Pipeline> pipeline;  // none while it is being listed for the first time
    bool listing = false;                          // or checking whether the listing still holds
    std::shared_ptr<ListingWork> work = {};        // while it is listed
    bool made_room = false;                        // idle pipelines were closed for this listing
    std::vector<Opening> waiting;
    std::string_view listed_what;  // progress of the listing being made, with `listed` and `to_list`
    uint64_t listed = 0, to_list = 0;
    source::KeptUse kept;        // how the current listing was made
    uint64_t idle_since_ns = 0;  // 0: in use
    CpuShare cpu_share;

    bool is_in_use() const { return listing || !idle_since_ns; }
  };

  Pipelines(EventLoop& loop, const pipeline::Resources& resources, store::remote::RemoteStores& stores,
            const Limits& limits);
  ~Pipelines();  // stops listings under way

  // `opening.on_open` is called on the control thread: within this call where the pipeline is open, and never where the
  // daemon stops first. kLimit: this uid has `per_user_max` pipelines in use already, or its operations would keep more
  // than `side_bytes_max`.
  Status open(const config::PipelineSpec& spec, const Opener& opener, Opening opening);
  // Lets go of the cache's shelves of idle pipelines, except pipelines from which a stopping feed is still filled.
  void release_caches(const std::function<bool(const pipeline::Pipeline&)>& is_stopping);
  // Called when a pipeline's feeds have come or gone.
  void set_in_use(const pipeline::Pipeline& pipeline, bool in_use);
  // From now on these weights of the operator replace named pipelines' own cpu_weight.
  void set_weights(std::map<std::string, double> weights);
  // The pipeline's weight beside the operator's pipelines, or beside other pipelines that its user sent.
  double weight_of(const Entry& entry) const;
  void set_limits(const Limits& limits);
  const Limits& limits() const { return limits_; }
  size_t count_in_use(uid_t uid) const;  // of specs that this user sent
  // The most memory in which operations of specs that this user sent may keep files, as the specs say.
  uint64_t side_bytes(uid_t uid) const;
  // The bytes of samples in flight: of the node, and of what this user sent. The latter is none where nothing that this
  // user sent is open, and for root and the daemon's user.
  const ByteBudget& in_flight() const { return *in_flight_; }
  const ByteBudget* in_flight(uid_t uid) const;
  // The memory that is lent for decoding, of the node and of what this user sent; none as in_flight() has it.
  const ByteBudget& memory() const { return *memory_; }
  const ByteBudget* memory(uid_t uid) const;
  // All pipelines that one user sent have one weight together, the greatest of theirs; 0: this pipeline's weight is its
  // own.
  double user_weight_of(const Entry& entry) const;
  // Called at every tick, for the reports.
  void note_cpu(uint64_t all_busy_ns);
  // Called at every tick: ends listings that nobody waits for, and listings that take too long.
  void look_at_listings(uint64_t now_ns);
  // The memory of listings: of the node, and of what this user sent, as in_flight() has it.
  const MemoryAccount& listing_memory() const { return *listing_memory_; }
  const MemoryAccount* listing_memory(uid_t uid) const;
  // Closes pipelines that have been idle for long, and idle pipelines beyond kIdleMax.
  void close_idle();
  void close_all();

  const std::map<std::string, std::unique_ptr<Entry>>& entries() const { return entries_; }
  const Entry* find(const pipeline::Pipeline& pipeline) const;

 private:
  struct ToList {
    std::string key;
    config::PipelineSpec spec;
    source::Places places;
    uint64_t owner = 0;                        // whose turn its reads take
    std::shared_ptr<ByteBudget> in_flight;     // of this pipeline
    std::shared_ptr<ByteBudget> memory;        // that this pipeline's samples are lent
    std::shared_ptr<pipeline::Pipeline> held;  // the open pipeline, whose listing may still hold
    std::shared_ptr<ListingWork> work;
  };
  // Shared by all pipelines that one user sent.
  struct User {
    std::shared_ptr<FairPool::Group> group;
    std::shared_ptr<ByteBudget> in_flight, memory;
    std::shared_ptr<MemoryAccount> listing_memory;
  };
  // The listed pipeline with its cache shelves open, or why there is none.
  using Opened = Result<std::shared_ptr<pipeline::Pipeline>>;

  // Answers `opening` for an entry that is there: at once, or when it is listed.
  Status wait_for(Entry& entry, Opening opening);
  // The name, or the name with the least number that no other pipeline is shown with.
  std::string free_name(const std::string& name) const;
  Status check_side_bytes(const config::PipelineSpec& spec, const Opener& opener);
  void list(Entry& entry);
  User& user(uid_t uid);
  void weigh();  // gives lanes and groups their weights
  Opened list_now(const ToList& what);
  std::unique_ptr<pipeline::Pipeline> list_anew(const ToList& what, const std::stop_token& stop);
  std::shared_ptr<pipeline::Pipeline> list_charged(const ToList& what);
  void on_listed(const std::string& key, const Opened& opened);
  bool lists_again(Entry& entry, const Opened& opened);
  bool close_idle_beside(Entry& entry);

  EventLoop& loop_;
  const pipeline::Resources resources_;
  store::remote::RemoteStores& stores_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  uint64_t last_number_ = 0;
  std::map<std::string, double> weights_;  // the operator's, by name
  Limits limits_;
  const std::shared_ptr<ByteBudget> in_flight_, memory_;  // of the node, as the following
  const std::shared_ptr<MemoryAccount> listing_memory_;
  std::map<uid_t, User> users_;  // who sent pipelines that are open or being listed
  ListingQueue listing_;         // last: its threads use the rest
};

}  // namespace spdld::node
