#include "daemon/node/node.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "config/checks/load.h"
#include "config/text/json.h"
#include "daemon/base/system/log.h"
#include "daemon/base/system/memory_limit.h"
#include "daemon/base/system/memory_reserve.h"
#include "daemon/node/access/access.h"
#include "daemon/node/reports/finding.h"
#include "daemon/node/reports/measuring.h"
#include "daemon/node/reports/reports.h"
#include "daemon/node/reports/web.h"
#include "daemon/node/seats/executors.h"
#include "daemon/node/settings/defaults.h"
#include "daemon/node/settings/reload.h"
#include "daemon/source/fetching/fetcher.h"

namespace spdld::node {
namespace {

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr uint64_t kShortMemoryNs = 10ull * 1'000'000'000;
constexpr auto kDrainLimit = std::chrono::seconds(10);

std::string make_daemon_id() {
  std::random_device random;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

UniqueFd listen(const config::DaemonSettings& settings, UniqueFd passed, bool& is_own) {
  is_own = false;
  if (passed) return passed;
  is_own = true;
  UniqueFd socket = proto::listen_at(settings.socket_path.string(), settings.socket_mode);
  if (!socket)
    throw SetupError(Trouble::kUsage, "the socket " + settings.socket_path.string() + " can't be had: " +
                                          (errno == EADDRINUSE ? "another spdld answers there" : std::strerror(errno)));
  give_to_group(settings.socket_path, settings.socket_group);
  return socket;
}

cache::Settings cache_settings(const config::DaemonSettings& settings) {
  return {cache_bytes_max(settings, usable_memory_bytes()), settings.cache_folder, settings.cache_disk_bytes_max};
}

memory::Gpus::Settings gpu_settings(const config::DaemonSettings& settings,
                                    std::function<void(const std::string&)> hopeless) {
  memory::Gpus::Settings gpus;
  gpus.enabled = settings.gpu_enabled;
  gpus.slot_bytes_max = settings.gpu_slot_bytes_max;
  gpus.staging_bytes_max = settings.gpu_staging_bytes_max;
  gpus.hopeless = std::move(hopeless);
  return gpus;
}

std::filesystem::path listings_folder(const config::DaemonSettings& settings) {
  const std::filesystem::path state = state_folder(settings);
  return state.empty() ? state : state / "listings";
}

unsigned budget(const config::DaemonSettings& settings, const CpuLimit& limit) {
  return settings.cpu_budget ? settings.cpu_budget : limit.cores;
}

Pipelines::Limits pipeline_limits(const config::DaemonSettings& settings, const DecodeMemory& decode_memory) {
  const uint64_t usable_bytes = usable_memory_bytes();
  return {.listings_per_user_max = settings.listings_per_user_max,
          .listing_s_max = settings.listing_s_max,
          .listing = listing_max(settings, usable_bytes),
          .in_flight = in_flight_max(settings, usable_bytes),
          .memory = lent_max(settings, usable_bytes, decode_memory)};
}

std::vector<pipeline::DecodeContext> make_contexts(const DecodeMemory& memory, const config::DaemonSettings& settings) {
  const media::DecodeLimits limits{.cpu_ms_max = settings.sample_ms_max,
                                   .bytes_max = settings.sample_bytes_max,
                                   .only_libjpeg = settings.jpeg_by_libjpeg};
  std::vector<pipeline::DecodeContext> contexts;
  for (unsigned i = 0; i < memory.threads; ++i) contexts.emplace_back(limits, memory.bytes_per_thread);
  return contexts;
}

std::vector<pipeline::Executor> all_executors(const Options& options, FairPool& pool, source::LocalFetcher& fetcher) {
  std::vector<pipeline::Executor> all = executors_of(pool, fetcher);
  all.insert(all.end(), options.more_executors.begin(), options.more_executors.end());
  return all;
}

pipeline::DelegateMakers delegates(const Options& options, const user::Crews& crews) {
  pipeline::DelegateMakers makers = options.delegates;
  makers.emplace(config::kUserExecutor, crews.maker());
  return makers;
}

}  // namespace

Node::Node(Options options)
    : options_(std::move(options)),
      daemon_id_(make_daemon_id()),
      started_ns_(monotonic_ns()),
      cpu_limit_(usable_cores()),
      stores_(options_.settings.data_stores),
      fetcher_(std::make_unique<source::LocalFetcher>(options_.settings.fetch_concurrency)),
      router_(std::make_unique<source::FetchRouter>(*fetcher_)),
      cache_(std::make_unique<cache::Cache>(cache_settings(options_.settings))),
      pool_(budget(options_.settings, cpu_limit_)),
      decode_memory_(decode_memory(options_.settings, usable_memory_bytes(), pool_.runners())),
      contexts_(make_contexts(decode_memory_, options_.settings)),
      tuning_(options_.settings, all_executors(options_, pool_, *fetcher_), pool_.threads(), monotonic_ns()),
      measuring_(std::make_unique<Measuring>()),
      host_memory_(options_.settings.spare_slot_bytes_max),
      gpus_(gpu_settings(options_.settings,
                         [this](const std::string& why) { loop_.post([this, why] { give_up(why); }); })),
      crews_(loop_, pool_.threads()),
      pipelines_(loop_,
                 {.pool = pool_,
                  .fetcher = *router_,
                  .contexts = contexts_,
                  .cache = *cache_,
                  .fetch_max = options_.settings.fetch_concurrency,
                  .listings = listings_folder(options_.settings),
                  .delegates = delegates(options_, crews_),
                  .more_stages = options_.more_stages},
                 stores_, pipeline_limits(options_.settings, decode_memory_)),
      seating_({.loop = loop_,
                .settings = options_.settings,
                .host_memory = host_memory_,
                .make_device_slots = [this](const memory::DeviceRing& ring,
                                            memory::Gpus::Done done) { gpus_.make_slots(ring, std::move(done)); },
                .memory_limits = [] { return memory_limits(); },
                .cache_to_come =
                    [this] {
                      const cache::Report cached = cache_->report();
                      return cached.ram_bytes_max - std::min(cached.ram_bytes, cached.ram_bytes_max);
                    },
                .decoding_to_come =
                    [this] {
                      const ByteBudget& lent = pipelines_.memory();
                      return lent.bytes_max() - std::min(lent.bytes(), lent.bytes_max());
                    }},
               {.on_use =
                    [this](const pipeline::Pipeline& pipeline, bool in_use) {
                      pipelines_.set_in_use(pipeline, in_use);
                      crews_.set_in_use(pipeline, in_use);
                    },
                .on_rest =
                    [this] {
                      if (draining_ && at_rest()) loop_.stop();
                    }}),
      recorder_(loop_, seating_),
      passed_(supervisor_.passed_sockets()),
      signals_(loop_, {SIGTERM, SIGINT, SIGHUP}, [this](int signal) { on_signal(signal); }),
      server_(std::make_unique<control::Server>(loop_,
                                                listen(options_.settings, std::move(passed_.control), socket_is_own_),
                                                user_limits(options_.settings), *this, [this] { on_emptied(); })),
      tick_(loop_),
      linger_(loop_),
      drain_limit_(loop_),
      last_errors_(options_.is_private ? state_folder(options_.settings) : std::filesystem::path()),
      monitoring_(loop_, options_.settings, std::move(passed_.http)) {
  memory_reserve::keep_freed(decode_memory_.bytes_per_thread);
  pipelines_.set_weights(options_.settings.cpu_weights);
  if (options_.is_private) server_->admit_only(geteuid());
}

Node::~Node() {
  gpus_.stop();  // before the loop goes, which its threads post to
}

void Node::run() {
  memory_reserve::keep();
  tick();
  on_emptied();
  const std::string status = "listening at " + options_.settings.socket_path.string();
  log::info("spdld " SPDLD_VERSION ": {}; {} decode threads ({}), {} fetch threads", status, pool_.threads(),
            options_.settings.cpu_budget ? "setting" : std::string(cpu_limit_.limited_by),
            options_.settings.fetch_concurrency);
  monitoring_.note_ready();
  monitoring_.start([this](bool page) { return web_routes([this] { return state(); }, page); });
  supervisor_.ready(status);
  loop_.run();
  leave_errors(true);
  pipelines_.close_all();
  log::tell_left_out(true);
}

void Node::on_signal(int signal) {
  if (signal == SIGHUP)
    reload();
  else
    drain(signal == SIGTERM ? "SIGTERM" : "SIGINT");
}

// The next tick comes whatever becomes of this one: the service manager waits for it.
void Node::tick() {
  tick_.start(kTick, [this] {
    try {
      look_after_all();
    } catch (const std::bad_alloc&) {
      log::error("spdld is short of memory: it tries again in {} ms", kTick.count());
    }
    supervisor_.alive();
    tick();
  });
}

void Node::look_after_all() {
  const uint64_t now_ns = monotonic_ns();
  memory_reserve::keep();
  monitoring_.tick(now_ns);
  seating_.tick(now_ns);
  crews_.tick(now_ns);
  recorder_.tick();
  // Pipelines for looking alone have no say in how many threads the trainers' pipelines need.
  std::vector<Feed*> trained = seating_.all_feeds();
  std::erase_if(trained, [this](const Feed* feed) {
    const Pipelines::Entry* entry = pipelines_.find(feed->pipeline());
    return entry != nullptr && entry->looks;
  });
  tuning_.look(trained, now_ns);
  pipelines_.look_at_listings(now_ns);
  pipelines_.note_cpu(pool_.busy_ns().value());
  host_memory_.tick(now_ns);
  measuring_->tick(state());
  tell_disk_trouble();
  tell_short_memory();
  log::tell_left_out();
  leave_errors(false);
  if (const uint32_t silent_ms = options_.settings.silent_ms_max)
    server_->end_silent(std::chrono::milliseconds(silent_ms));
  pipelines_.close_idle();
  pipelines_.release_caches([this](const pipeline::Pipeline& pipeline) { return seating_.is_stopping(pipeline); });
}

void Node::tell_short_memory() {
  const uint64_t waits = memory_waits(state()), shortages = memory_reserve::shortages(), now_ns = monotonic_ns();
  if (waits <= memory_waits_told_ && shortages <= shortages_told_) return;
  if (short_memory_told_ns_ && now_ns - short_memory_told_ns_ < kShortMemoryNs) return;
  log::warn("spdld is short of memory: samples have waited for memory {} times, and {} allocations have failed", waits,
            shortages);
  memory_waits_told_ = waits;
  shortages_told_ = shortages;
  short_memory_told_ns_ = now_ns;
}

void Node::tell_disk_trouble() {
  if (disk_trouble_told_ || options_.settings.cache_folder.empty()) return;
  const std::string trouble = cache_->disk_trouble();
  if (trouble.empty()) return;
  log::warn("cache: {}", trouble);
  disk_trouble_told_ = true;
}

void Node::leave_errors(bool last) {
  if (!options_.is_private) return;
  last_errors_.look(errors_total(state()), monotonic_ns(), last, [this] { return last_errors_document(state()); });
}

void Node::on_emptied() {
  if (draining_ && at_rest()) loop_.stop();
  if (draining_ || !options_.is_private) return;
  // Only a served client starts the time anew: programs that look at the daemon again and again would keep it for ever.
  const auto now = std::chrono::steady_clock::now();
  if (std::exchange(has_served_, false)) linger_end_ = now + std::chrono::milliseconds(options_.linger_ms);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(linger_end_ - now);
  linger_.start(std::max(left, std::chrono::milliseconds(0)), [this] {
    if (server_->sessions().empty()) drain("nobody needs this private daemon any more");
  });
}

void Node::drain(std::string_view why) {
  if (std::exchange(draining_, true)) return;
  log::info("stopping: {}", why);
  supervisor_.stopping();
  monitoring_.drain("spdld stops (" + std::string(why) + ")");
  seating_.drain();
  server_->stop("spdld stops (" + std::string(why) + ")");
  std::error_code ignored;
  if (socket_is_own_) std::filesystem::remove(options_.settings.socket_path, ignored);
  stores_.stop();  // nobody waits for what they read any more
  drain_limit_.start(kDrainLimit, [] {
    log::error("stopping took more than {} s: some decoding did not end", kDrainLimit.count());
    std::_Exit(1);  // the kernel takes back what the threads still hold
  });
  if (at_rest()) loop_.stop();
}

void Node::give_up(const std::string& why) {
  if (draining_) return;
  log::critical("{}", why);
  exit_code_ = 1;
  drain("a GPU can't be opened afresh by this process");
}

void Node::reload() {
  if (options_.config_file.empty()) return log::warn("SIGHUP: this daemon was started without a settings file");
  supervisor_.reloading();
  const auto loaded = config::load_daemon_file(options_.config_file);
  if (loaded) {
    take_settings(*loaded.value);
  } else {
    log::error("SIGHUP: {} has errors; the old settings stay:", options_.config_file.string());
    for (const auto& complaint : loaded.complaints) log::error("SIGHUP: {}", complaint.sentence());
  }
  supervisor_.ready("listening at " + options_.settings.socket_path.string());
}

void Node::take_settings(const config::DaemonSettings& read) {
  config::DaemonSettings& settings = options_.settings;
  settings = reloaded(settings, read);
  if (!options_.log_level.empty()) settings.log_level = options_.log_level;
  tuning_.set_settings(settings);
  pipelines_.set_weights(settings.cpu_weights);
  stores_.set_settings(settings.data_stores);
  pipelines_.set_limits(pipeline_limits(settings, decode_memory_));
  server_->set_limits(user_limits(settings));
  log::set_level(settings.log_level);
  std::string waiting;
  for (const auto& key : keys_that_wait(options_.of_file, read)) waiting += (waiting.empty() ? "" : ", ") + key;
  const std::string file = options_.config_file.string();
  if (waiting.empty()) return log::info("SIGHUP: {} was read anew", file);
  log::warn("SIGHUP: {} was read anew; what it says of {} takes effect when spdld is restarted", file, waiting);
}

State Node::state() const {
  return {.options = options_,
          .cpu_limit = cpu_limit_,
          .pool = pool_,
          .pipelines = pipelines_,
          .feeds = seating_.feeds(),
          .server = *server_,
          .daemon_id = daemon_id_,
          .uptime_s = seconds(monotonic_ns() - started_ns_),
          .draining = draining_,
          .slot_bytes = seating_.slot_bytes(),
          .spare_slot_bytes = host_memory_.spare_bytes(),
          .gpus = gpus_,
          .quarantine = seating_.quarantine(),
          .cache = *cache_,
          .stores = stores_,
          .router = *router_,
          .tuning = tuning_,
          .ring_use = seating_.ring_use(),
          .history = measuring_->history(),
          .pss_bytes = measuring_->pss_bytes(),
          .decode_memory = decode_memory_};
}

// A private daemon begins to serve the page when its user asks for the page.
Result<std::string> Node::page_document(const control::Client& client) {
  try {
    const bool may_open = options_.is_private && client.uid == geteuid() && !draining_;
    const Monitoring::Page page = may_open ? monitoring_.open_page() : monitoring_.page();
    return config::Json{{"address", page.address},
                        {"page", page.is_served},
                        {"token_file", page.token_file},
                        {"token", is_owner(client.uid) ? page.token : ""}}
        .dump();
  } catch (const SetupError& error) {
    return error.error();
  }
}

Result<std::string> Node::query(const control::Client& client, std::string_view topic, std::string_view argument) {
  if (topic == "trace") {
    return recorder_.query(client, argument,
                           [&](const std::string& name) -> Result<std::shared_ptr<pipeline::Pipeline>> {
                             const auto found = find_pipeline(state(), client, name);
                             if (!found) return found.error();
                             if (!(*found)->pipeline) return still_being_listed(name);
                             return (*found)->pipeline;
                           });
  }
  if (topic == "page") return page_document(client);
  if (topic == "status" || topic == "metrics") measuring_->freshen(monotonic_ns());
  if (is_owner(client.uid)) return report(state(), client, topic, argument);  // they read what they have just written
  const Answers::Question question{client.uid, topic, argument};
  const uint64_t now_ns = monotonic_ns();
  if (const std::string* kept = answers_.find(question, now_ns)) return *kept;
  auto answer = report(state(), client, topic, argument);
  if (answer) answers_.keep(question, *answer, now_ns);
  return answer;
}

}  // namespace spdld::node
