#include "daemon/node/pipelines/pipelines.h"

#include <algorithm>
#include <functional>
#include <new>
#include <set>

#include "config/side_paths.h"
#include "config/text/field_path.h"
#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/node/access/access.h"
#include "daemon/rows/row_listing.h"
#include "daemon/source/opening/opening.h"

namespace spdld::node {
namespace {

constexpr size_t kMissingLogged = 20;              // sentences
constexpr uint64_t kOfNoUser = uint64_t{1} << 63;  // no uid has it

std::shared_ptr<const source::Bounds> bounds_of(const Opener& opener) {
  const bool is_sent = opener.named_as.empty() && !is_owner(opener.uid);
  return std::make_shared<const source::Bounds>(opener.within, source::Bounds::Rules{.unreadable_refuses = is_sent});
}

// Whether a user other than the daemon's own and root has sent it.
bool is_sent(const Pipelines::Entry& entry) { return entry.named_as.empty() && !is_owner(entry.uid); }

// A client that has gone may still have asked for the same pipeline once more, so that the list grows meanwhile.
bool is_wanted(const Pipelines::Entry& entry) {
  for (size_t i = 0; i < entry.waiting.size(); i++) {
    const auto wants = entry.waiting[i].is_wanted;
    if (!wants || wants()) return true;
  }
  return false;
}

Error too_large(const MemoryAccount& full) {
  return {Trouble::kLimit,
          "the listing of this dataset needs more memory than there is for listings: " + std::to_string(full.bytes()) +
              " of " + std::to_string(full.bytes_max()) + " bytes are taken (" + full.name() +
              "): detach from another pipeline first, or divide the dataset"};
}

Error took_too_long(uint64_t ns) {
  return {Trouble::kLimit, "the listing of this dataset was ended after " + std::to_string(ns / 1'000'000'000) +
                               " s (limits.listing_s_max): divide the dataset, or have the operator name the pipeline"};
}

}  // namespace

Pipelines::Pipelines(EventLoop& loop, const pipeline::Resources& resources, store::remote::RemoteStores& stores,
                     const Limits& limits)
    : loop_(loop),
      resources_(resources),
      stores_(stores),
      limits_(limits),
      in_flight_(std::make_shared<ByteBudget>(limits.in_flight.node_bytes)),
      memory_(std::make_shared<ByteBudget>(limits.memory.node_bytes)),
      listing_memory_(std::make_shared<MemoryAccount>(limits.listing.node_bytes, "limits.listing_bytes_max")),
      listing_(kListingThreads, limits.listings_per_user_max, is_owner) {}

Pipelines::~Pipelines() = default;

Status Pipelines::open(const config::PipelineSpec& spec, const Opener& opener, Opening opening) {
  const bool is_named = !opener.named_as.empty();
  std::string key = (opener.looks ? "looks " : "") +
                    (is_named ? "named " + opener.named_as : std::to_string(opener.uid)) + " " +
                    config::full_json(spec);
  // The operator may change them.
  for (const auto& folder : opener.within) key += (folder.follow_links ? " linked " : " ") + folder.path.string();
  if (opener.stores.is_bound) key += " bound";
  for (const auto& beginning : opener.stores.beginnings) key += " " + beginning;
  const auto at = entries_.find(key);
  if (at != entries_.end() && at->second->is_in_use()) return wait_for(*at->second, std::move(opening));
  const size_t in_use = count_in_use(opener.uid);
  if (!is_named && in_use >= opener.per_user_max)
    return Error{Trouble::kLimit,
                 "this user has " + std::to_string(in_use) +
                     " pipelines in use already (limits.pipelines_per_user_max): detach from one first"};
  if (at != entries_.end()) return wait_for(*at->second, std::move(opening));
  if (!is_named) {
    if (Status fits = check_side_bytes(spec, opener); !fits) return fits;
  }
  auto entry = std::make_unique<Entry>();
  entry->key = key;
  entry->number = ++last_number_;
  entry->shown_name = opener.looks ? spec.name : free_name(spec.name);
  entry->spec = spec;
  entry->looks = opener.looks;
  if (opener.looks) {
    entry->spec.cache = config::CacheForm::kOff;
    entry->spec.share = config::Share::kCache;
  }
  if (!opener.within.empty()) entry->places.bounds = bounds_of(opener);
  entry->places.user = opener.uid;
  entry->places.stores = stores_.allow(opener.stores.beginnings, opener.stores.is_bound);
  entry->uid = opener.uid;
  entry->named_as = opener.named_as;
  entry->waiting.push_back(std::move(opening));
  for (const auto& source : spec.sources)
    log::limited(log::Level::kInfo, {entry->shown_name}, "pipeline {}: listing {}", entry->shown_name,
                 config::uris_text(source));
  list(*entry);
  entries_.emplace(key, std::move(entry));
  return Done{};
}

std::string Pipelines::free_name(const std::string& name) const {
  std::set<std::string_view> taken;
  for (const auto& [key, entry] : entries_)
    if (!entry->looks) taken.insert(entry->shown_name);
  std::string free = name;
  for (size_t number = 2; taken.contains(free); ++number) free = name + "#" + std::to_string(number);
  return free;
}

// Idle pipelines of the user make room.
Status Pipelines::check_side_bytes(const config::PipelineSpec& spec, const Opener& opener) {
  const uint64_t wanted = config::side_bytes_max_of(spec);
  const auto fits = [&] {
    const uint64_t held = side_bytes(opener.uid);
    return held <= opener.side_bytes_max && wanted <= opener.side_bytes_max - held;
  };
  if (wanted == 0 || fits()) return Done{};
  std::erase_if(entries_, [&](const auto& named_entry) {
    const Entry& entry = *named_entry.second;
    return is_sent(entry) && entry.uid == opener.uid && !entry.is_in_use() && config::side_bytes_max_of(entry.spec) > 0;
  });
  weigh();
  if (fits()) return Done{};
  return Error{
      Trouble::kLimit,
      "operations of this user's pipelines may keep files and samples in " + std::to_string(opener.side_bytes_max) +
          " bytes of memory (limits.side_bytes_per_user_max), and with this one they would "
          "have " +
          std::to_string(side_bytes(opener.uid) + wanted) +
          ": lower memory_max of its operations or scratch under [python], or detach from another pipeline first"};
}

uint64_t Pipelines::side_bytes(uid_t uid) const {
  uint64_t bytes = 0;
  for (const auto& [key, entry] : entries_)
    if (entry->uid == uid && entry->named_as.empty()) bytes += config::side_bytes_max_of(entry->spec);
  return bytes;
}

Status Pipelines::wait_for(Entry& entry, Opening opening) {
  if (!entry.listing && !entry.idle_since_ns) {
    opening.on_open(entry.pipeline);
    return Done{};
  }
  entry.waiting.push_back(std::move(opening));
  if (!entry.listing) list(entry);
  return Done{};
}

size_t Pipelines::count_in_use(uid_t uid) const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [uid](const auto& named_entry) {
    const Entry& entry = *named_entry.second;
    return entry.uid == uid && entry.named_as.empty() && entry.is_in_use();
  }));
}

void Pipelines::list(Entry& entry) {
  entry.listing = true;
  entry.listed_what = {};
  entry.listed = entry.to_list = 0;
  // Pipelines of the operator's take turns by themselves, and what a user sent by its user.
  const uint64_t owner = !entry.named_as.empty() ? std::hash<std::string>()(entry.key) | kOfNoUser : entry.uid;
  const auto in_flight = std::make_shared<ByteBudget>(limits_.in_flight.pipeline_bytes,
                                                      is_sent(entry) ? user(entry.uid).in_flight : in_flight_);
  const auto memory =
      std::make_shared<ByteBudget>(limits_.memory.pipeline_bytes, is_sent(entry) ? user(entry.uid).memory : memory_);
  entry.work = std::make_shared<ListingWork>(is_sent(entry) ? user(entry.uid).listing_memory : listing_memory_);
  ToList to_list{entry.key, entry.spec, entry.places, owner, in_flight, memory, entry.pipeline, entry.work};
  listing_.add(entry.uid, [this, what = std::move(to_list)](const std::stop_token& stop) {
    const std::stop_callback with_daemon(stop, [&what] { what.work->stop(); });
    loop_.post([this, key = what.key, opened = list_now(what)] { on_listed(key, opened); });
  });
}

Pipelines::Opened Pipelines::list_now(const ToList& what) try {
  what.work->begin(monotonic_ns());
  const bool holds = what.held && what.held->unchanged();
  const std::shared_ptr<pipeline::Pipeline> pipeline = holds ? what.held : list_charged(what);
  pipeline->open_cache();
  return pipeline;
} catch (const SetupError& e) {
  return what.work->end() == ListingWork::End::kTime ? took_too_long(what.work->age_ns(monotonic_ns())) : e.error();
} catch (const std::bad_alloc&) {
  const MemoryAccount* const full = what.work->charge()->refused_by();
  return full != nullptr
             ? too_large(*full)
             : Error{Trouble::kMemory, "spdld is short of memory and can't list the dataset: try again later"};
} catch (const std::exception& e) {
  return Error{Trouble::kInternal, std::string("listing failed: ") + e.what()};
}

// The charge lives as long as the pipeline, and ends behind it.
std::shared_ptr<pipeline::Pipeline> Pipelines::list_charged(const ToList& what) {
  struct Charged {
    std::shared_ptr<MemoryCharge> charge;
    std::unique_ptr<pipeline::Pipeline> pipeline;
  };
  const auto charged = std::make_shared<Charged>();
  charged->charge = what.work->charge();
  const MemoryCharge::Scope scope(charged->charge.get());
  charged->pipeline = list_anew(what, what.work->token());
  return {charged, charged->pipeline.get()};
}

std::unique_ptr<pipeline::Pipeline> Pipelines::list_anew(const ToList& what, const std::stop_token& stop) {
  const auto progress = [this, key = what.key](std::string_view counted, uint64_t done, uint64_t total) {
    loop_.post([this, key, counted, done, total] {
      const auto at = entries_.find(key);
      if (at == entries_.end()) return;
      at->second->listed_what = counted;
      at->second->listed = done;
      at->second->to_list = total;
      for (const auto& waiting : at->second->waiting) waiting.on_progress(counted, done, total);
    });
  };
  const uint64_t start_ns = monotonic_ns();
  source::KeptUse kept;
  std::vector<std::string> wanted;
  for (const auto& output : what.spec.outputs) wanted.push_back(config::parse_field_path(output.from).field());
  if (what.spec.rows.is_on()) wanted.push_back(what.spec.rows.from);
  source::Cutter cutter;
  if (what.spec.rows.is_on()) {
    cutter = [&](const config::SourceSpec& source, std::unique_ptr<source::Listing> records) {
      rows::IndexUse use;
      auto listed = rows::list_rows(what.spec, source, std::move(records), progress, stop, resources_.listings, &use);
      if (!use.trouble.empty()) log::warn("{}", use.trouble);
      return listed;
    };
  }
  auto listing =
      source::open_listings(what.spec.sources, progress, stop, resources_.listings, &kept, wanted, what.places, cutter);
  if (!kept.trouble.empty()) log::warn("{}", kept.trouble);
  loop_.post([this, key = what.key, kept] {
    if (const auto at = entries_.find(key); at != entries_.end()) at->second->kept = kept;
  });
  const double listing_s = seconds(monotonic_ns() - start_ns);
  pipeline::Resources resources = resources_;
  resources.fetch_owner = what.owner;
  resources.budget = what.in_flight;
  resources.memory = what.memory;
  resources.fetch_max = std::max(resources.fetch_max, listing->store_concurrency());
  return std::make_unique<pipeline::Pipeline>(what.spec, std::move(listing), listing_s, resources, stop);
}

void Pipelines::on_listed(const std::string& key, const Opened& opened) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  Entry& entry = *at->second;
  // It may hear of further clients: meanwhile the entry counts as being listed.
  if (lists_again(entry, opened)) return;
  entry.listing = false;
  entry.work.reset();
  entry.made_room = false;
  entry.idle_since_ns = monotonic_ns();  // until a feed comes
  const std::vector<Opening> waiting = std::exchange(entry.waiting, {});
  if (!opened) {
    log::limited(log::Level::kWarn, {entry.shown_name}, "pipeline {} can't be opened: {}", entry.shown_name,
                 opened.error().message);
    entries_.erase(at);
  } else if (entry.pipeline != *opened) {
    entry.pipeline = *opened;
    // These may have changed meanwhile.
    entry.pipeline->resources().budget->set_bytes_max(limits_.in_flight.pipeline_bytes);
    entry.pipeline->resources().memory->set_bytes_max(limits_.memory.pipeline_bytes);
    if (is_sent(entry)) entry.pipeline->lane().join(user(entry.uid).group);
    weigh();
    entry.cpu_share = {};
    log::info(log::About{entry.shown_name},
              "pipeline {}: {} samples listed in {:.2f} s, of {} folders or archives {} as they were kept",
              entry.shown_name, entry.pipeline->listing().size(), entry.pipeline->listing_s(),
              entry.kept.taken + entry.kept.read, entry.kept.taken);
    const source::Remarks remarks = entry.pipeline->remarks();
    const auto& missing = remarks.missing();
    for (size_t i = 0; i < missing.first.size() && i < kMissingLogged; i++)
      log::warn(log::About{entry.shown_name}, "pipeline {}: missing: {}", entry.shown_name, missing.first[i]);
    if (missing.count > kMissingLogged)
      log::warn(log::About{entry.shown_name}, "pipeline {}: missing: {} in all", entry.shown_name, missing.count);
  }
  for (const auto& one : waiting) one.on_open(opened);
}

bool Pipelines::lists_again(Entry& entry, const Opened& opened) {
  if (opened) return false;
  // Somebody came while the listing that nobody had waited for was ending.
  const bool was_unwanted =
      entry.work->end() == ListingWork::End::kUnwanted && opened.error().trouble == Trouble::kStopping;
  const bool was_refused =
      entry.work->charge()->refused_by() != nullptr && entry.work->end() != ListingWork::End::kTime;
  const bool may_make_room = was_refused && !entry.made_room;
  if (!(was_unwanted || may_make_room) || !is_wanted(entry)) return false;
  if (may_make_room && close_idle_beside(entry))
    entry.made_room = true;
  else if (!was_unwanted)
    return false;
  list(entry);
  return true;
}

// Idle pipelines make room for a listing: the pipelines that the same user sent, and all pipelines where the whole
// node's memory is taken.
bool Pipelines::close_idle_beside(Entry& entry) {
  const bool is_node_full = entry.work->charge()->refused_by() == listing_memory_.get();
  const size_t closed = std::erase_if(entries_, [&](const auto& named_entry) {
    const Entry& other = *named_entry.second;
    const bool is_same_users = is_sent(other) && is_sent(entry) && other.uid == entry.uid;
    return &other != &entry && !other.is_in_use() && (is_node_full || is_same_users);
  });
  // The listing of before is idle, too, and does not hold any more.
  const bool had_own = std::exchange(entry.pipeline, nullptr) != nullptr;
  if (closed > 0) weigh();
  return closed > 0 || had_own;
}

void Pipelines::look_at_listings(uint64_t now_ns) {
  for (const auto& [key, entry] : entries_) {
    if (!entry->listing) continue;
    if (!is_wanted(*entry)) entry->work->end_early(ListingWork::End::kUnwanted);
    const uint64_t s_max = is_sent(*entry) ? limits_.listing_s_max : 0;
    if (s_max > 0 && entry->work->age_ns(now_ns) > s_max * 1'000'000'000)
      entry->work->end_early(ListingWork::End::kTime);
  }
}

const MemoryAccount* Pipelines::listing_memory(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() ? user->second.listing_memory.get() : nullptr;
}

const Pipelines::Entry* Pipelines::find(const pipeline::Pipeline& pipeline) const {
  for (const auto& [key, entry] : entries_)
    if (entry->pipeline.get() == &pipeline) return entry.get();
  return nullptr;
}

void Pipelines::set_in_use(const pipeline::Pipeline& pipeline, bool in_use) {
  for (auto& [key, entry] : entries_)
    if (entry->pipeline.get() == &pipeline) entry->idle_since_ns = in_use ? 0 : monotonic_ns();
}

void Pipelines::set_weights(std::map<std::string, double> weights) {
  weights_ = std::move(weights);
  weigh();
}

// A user does not get more of the CPU by sending more pipelines.
void Pipelines::weigh() {
  std::map<uid_t, double> of_users;
  for (const auto& [key, entry] : entries_) {
    const double weight = weight_of(*entry);
    if (entry->pipeline) entry->pipeline->lane().set_weight(weight);
    if (!is_sent(*entry)) continue;
    double& of_user = of_users[entry->uid];
    of_user = std::max(of_user, entry->pipeline ? weight : 0);
  }
  std::erase_if(users_, [&](const auto& user) { return !of_users.contains(user.first); });
  for (const auto& [uid, user] : users_)
    if (const double weight = of_users.at(uid); weight > 0) user.group->set_weight(weight);
}

Pipelines::User& Pipelines::user(uid_t uid) {
  User& user = users_[uid];
  if (!user.group) {
    user.group = std::make_shared<FairPool::Group>(resources_.pool);
    user.in_flight = std::make_shared<ByteBudget>(limits_.in_flight.user_bytes, in_flight_);
    user.listing_memory = std::make_shared<MemoryAccount>(limits_.listing.user_bytes,
                                                          "limits.listing_bytes_per_user_max", listing_memory_);
    user.memory = std::make_shared<ByteBudget>(limits_.memory.user_bytes, memory_);
  }
  return user;
}

void Pipelines::set_limits(const Limits& limits) {
  limits_ = limits;
  listing_.set_per_user_max(limits.listings_per_user_max);
  in_flight_->set_bytes_max(limits.in_flight.node_bytes);
  memory_->set_bytes_max(limits.memory.node_bytes);
  listing_memory_->set_bytes_max(limits.listing.node_bytes);
  for (const auto& [uid, user] : users_) {
    user.in_flight->set_bytes_max(limits.in_flight.user_bytes);
    user.memory->set_bytes_max(limits.memory.user_bytes);
    user.listing_memory->set_bytes_max(limits.listing.user_bytes);
  }
  for (const auto& [key, entry] : entries_) {
    if (!entry->pipeline) continue;
    entry->pipeline->resources().budget->set_bytes_max(limits.in_flight.pipeline_bytes);
    entry->pipeline->resources().memory->set_bytes_max(limits.memory.pipeline_bytes);
  }
}

const ByteBudget* Pipelines::in_flight(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() ? user->second.in_flight.get() : nullptr;
}

const ByteBudget* Pipelines::memory(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() ? user->second.memory.get() : nullptr;
}

double Pipelines::user_weight_of(const Entry& entry) const {
  const auto user = users_.find(entry.uid);
  return is_sent(entry) && user != users_.end() ? user->second.group->weight() : 0;
}

double Pipelines::weight_of(const Entry& entry) const {
  if (entry.looks) return std::min(entry.spec.cpu_weight, kLooksWeightMax);
  if (is_sent(entry)) return std::min(entry.spec.cpu_weight, kSentWeightMax);
  if (entry.named_as.empty()) return entry.spec.cpu_weight;
  const auto at = weights_.find(entry.named_as);
  return at != weights_.end() ? at->second : entry.spec.cpu_weight;
}

void Pipelines::note_cpu(uint64_t all_busy_ns) {
  for (const auto& [key, entry] : entries_)
    if (entry->pipeline) entry->cpu_share.note(entry->pipeline->lane().busy_ns().value(), all_busy_ns);
}

void Pipelines::release_caches(const std::function<bool(const pipeline::Pipeline&)>& is_stopping) {
  for (const auto& [key, entry] : entries_)
    if (entry->pipeline && !entry->listing && entry->idle_since_ns && !is_stopping(*entry->pipeline))
      entry->pipeline->close_cache();
}

void Pipelines::close_idle() {
  std::vector<Entry*> idle;
  const uint64_t now_ns = monotonic_ns();
  std::erase_if(entries_, [now_ns](const auto& named_entry) {
    const Entry& entry = *named_entry.second;
    return entry.looks && !entry.is_in_use() && now_ns - entry.idle_since_ns > kLooksIdleNsMax;
  });
  for (const auto& [key, entry] : entries_)
    if (!entry->looks && !entry->listing && entry->idle_since_ns) idle.push_back(entry.get());
  std::sort(idle.begin(), idle.end(),
            [](const Entry* a, const Entry* b) { return a->idle_since_ns > b->idle_since_ns; });
  for (size_t i = 0; i < idle.size(); i++)
    if (i >= kIdleMax || now_ns - idle[i]->idle_since_ns > kIdleNsMax) entries_.erase(std::string(idle[i]->key));
  if (!idle.empty()) weigh();
}

void Pipelines::close_all() {
  listing_.stop();
  entries_.clear();
}

}  // namespace spdld::node
