#include "daemon/node/node.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "config/load.h"
#include "daemon/node/access.h"
#include "daemon/node/places.h"
#include "daemon/node/reports.h"
#include "daemon/source/fetcher.h"

namespace spdld::node {
namespace {

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr auto kDrainLimit = std::chrono::seconds(10);

std::string make_daemon_id() {
  std::random_device random;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

UniqueFd listen(const config::DaemonSettings& settings, const ServiceSupervisor& supervisor, bool& is_own) {
  is_own = false;
  if (UniqueFd passed = supervisor.passed_socket()) return passed;
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

std::filesystem::path listings_folder(const config::DaemonSettings& settings) {
  const std::filesystem::path state = state_folder(settings);
  return state.empty() ? state : state / "listings";
}

unsigned budget(const config::DaemonSettings& settings, const CpuLimit& limit) {
  return settings.cpu_budget ? settings.cpu_budget : limit.cores;
}

}  // namespace

Node::Node(Options options)
    : options_(std::move(options)),
      daemon_id_(make_daemon_id()),
      started_ns_(monotonic_ns()),
      cpu_limit_(usable_cores()),
      fetcher_(std::make_unique<source::LocalFetcher>(options_.settings.fetch_concurrency)),
      cache_(std::make_unique<cache::Cache>(cache_settings(options_.settings))),
      pool_(budget(options_.settings, cpu_limit_)),
      contexts_(pool_.threads()),
      tuning_(options_.settings, pool_, *fetcher_),
      host_memory_(options_.settings.spare_slot_bytes_max),
      gpus_({options_.settings.gpu_enabled, options_.settings.gpu_slot_bytes_max,
             options_.settings.gpu_staging_bytes_max}),
      pipelines_(context_, {pool_, *fetcher_, contexts_, *cache_, options_.settings.fetch_concurrency,
                            listings_folder(options_.settings)}),
      quarantine_(context_),
      server_(std::make_unique<control::Server>(context_, listen(options_.settings, supervisor_, socket_is_own_),
                                                options_.settings.sessions_max, *this, [this] { on_emptied(); })),
      signals_(context_, SIGTERM, SIGINT, SIGHUP),
      tick_(context_),
      linger_(context_),
      drain_limit_(context_) {
  pipelines_.set_weights(options_.settings.cpu_weights);
  if (options_.is_private) server_->admit_only(geteuid());
}

Node::~Node() {
  gpus_.stop();  // before the context goes, which its threads post to
}

void Node::run() {
  wait_for_signals();
  tick();
  on_emptied();
  const std::string status = "listening at " + options_.settings.socket_path.string();
  spdlog::info("spdld " SPDLD_VERSION ": {}; {} decode threads ({}), {} fetch threads", status, pool_.threads(),
               options_.settings.cpu_budget ? "setting" : std::string(cpu_limit_.limited_by),
               options_.settings.fetch_concurrency);
  supervisor_.ready(status);
  context_.run();
  pipelines_.close_all();
}

void Node::wait_for_signals() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    if (signal == SIGHUP)
      reload();
    else
      drain(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    wait_for_signals();
  });
}

void Node::tick() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    for (const auto& [pipeline, feeds] : feeds_)
      for (const auto& [key, feed] : feeds) feed->tick();
    tune();
    pipelines_.note_cpu(pool_.busy_ns().value());
    host_memory_.tick(monotonic_ns());
    tell_disk_trouble();
    quarantine_.tick();
    pipelines_.close_idle();
    pipelines_.release_caches([this](const pipeline::Pipeline& pipeline) {
      return std::any_of(closing_.begin(), closing_.end(),
                         [&](const auto& feed) { return &feed->pipeline() == &pipeline; });
    });
    supervisor_.alive();
    tick();
  });
}

void Node::tune() {
  std::vector<Feed*> feeds;
  for (const auto& [pipeline, of_pipeline] : feeds_)
    for (const auto& [key, feed] : of_pipeline) feeds.push_back(feed.get());
  tuning_.look(feeds);
}

void Node::tell_disk_trouble() {
  if (disk_trouble_told_ || options_.settings.cache_folder.empty()) return;
  const std::string trouble = cache_->disk_trouble();
  if (trouble.empty()) return;
  spdlog::warn("cache: {}", trouble);
  disk_trouble_told_ = true;
}

void Node::on_emptied() {
  if (draining_ && at_rest()) context_.stop();
  if (draining_ || !options_.is_private) return;
  linger_.expires_after(std::chrono::milliseconds(options_.linger_ms));
  linger_.async_wait([this](boost::system::error_code error) {
    if (!error && server_->sessions().empty()) drain("nobody needs this private daemon any more");
  });
}

void Node::drain(std::string_view why) {
  if (std::exchange(draining_, true)) return;
  spdlog::info("stopping: {}", why);
  supervisor_.stopping();
  server_->stop("spdld stops (" + std::string(why) + ")");
  std::error_code ignored;
  if (socket_is_own_) std::filesystem::remove(options_.settings.socket_path, ignored);
  drain_limit_.expires_after(kDrainLimit);
  drain_limit_.async_wait([](boost::system::error_code error) {
    if (error) return;
    spdlog::error("stopping took more than {} s: some decoding did not end", kDrainLimit.count());
    std::_Exit(1);  // the kernel takes back what the threads still hold
  });
  if (at_rest()) context_.stop();
}

void Node::reload() {
  if (options_.config_file.empty()) return spdlog::warn("SIGHUP: this daemon was started without a settings file");
  supervisor_.reloading();
  const auto loaded = config::load_daemon_file(options_.config_file);
  if (loaded) {
    const config::DaemonSettings before = options_.settings;
    options_.settings = *loaded.value;
    // What the threads, the socket and the GPUs were made from can't change under them.
    options_.settings.socket_path = before.socket_path;
    options_.settings.cpu_budget = before.cpu_budget;
    options_.settings.fetch_concurrency = before.fetch_concurrency;
    options_.settings.spare_slot_bytes_max = before.spare_slot_bytes_max;
    options_.settings.gpu_enabled = before.gpu_enabled;
    options_.settings.gpu_slot_bytes_max = before.gpu_slot_bytes_max;
    options_.settings.gpu_staging_bytes_max = before.gpu_staging_bytes_max;
    options_.settings.cache_ram_bytes_max = before.cache_ram_bytes_max;
    options_.settings.cache_folder = before.cache_folder;
    options_.settings.cache_disk_bytes_max = before.cache_disk_bytes_max;
    options_.settings.state_kept = before.state_kept;
    options_.settings.state_folder = before.state_folder;
    tuning_.set_settings(options_.settings);
    pipelines_.set_weights(options_.settings.cpu_weights);
    server_->set_sessions_max(options_.settings.sessions_max);
    spdlog::set_level(spdlog::level::from_str(options_.settings.log_level));
    spdlog::info(
        "SIGHUP: {} was read anew (socket, cpu_budget, fetch_concurrency, spare_slot_bytes_max, [cache], [state] and "
        "[gpu] change with a restart only)",
        options_.config_file.string());
  } else {
    spdlog::error("SIGHUP: {} has errors, the settings of before stay:\n{}", options_.config_file.string(),
                  loaded.sentences());
  }
  supervisor_.ready("listening at " + options_.settings.socket_path.string());
}

uint64_t Node::slot_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [pipeline, feeds] : feeds_)
    for (const auto& [key, feed] : feeds) bytes += feed->host_bytes();
  for (const auto& feed : closing_) bytes += feed->host_bytes();
  return bytes;
}

Node::View Node::view() const {
  return {options_,
          cpu_limit_,
          pool_,
          pipelines_,
          feeds_,
          *server_,
          daemon_id_,
          static_cast<double>(monotonic_ns() - started_ns_) * 1e-9,
          draining_,
          slot_bytes(),
          host_memory_.spare_bytes(),
          gpus_,
          quarantine_,
          *cache_,
          tuning_};
}

Result<std::string> Node::query(const control::Client& client, std::string_view topic, std::string_view argument) {
  return report(view(), client, topic, argument);
}

}  // namespace spdld::node
