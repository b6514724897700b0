#include "daemon/node/reports.h"

#include <unistd.h>

#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "daemon/control/session_reply.h"
#include "daemon/node/access.h"
#include "daemon/source/sample_list.h"

namespace spdld::node {
namespace {

using nlohmann::json;

constexpr size_t kSampleIdsMax = 1000;
constexpr size_t kLinesBytesMax = size_t{1} << 20;  // some 10 ms of the control thread

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }
double microseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-3; }

std::string iso_time(std::chrono::system_clock::time_point time) {
  const std::time_t at = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&at, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// JSON must be UTF-8; file names need not be.
std::string dump(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

bool may_see(const Node::View& view, const control::Client& client, const Pipelines::Entry& entry) {
  if (is_owner(client.uid) || entry.uid == client.uid) return true;
  return entry.named && may_use(view.options.settings, entry.spec.name, client.uid, client.gid);
}

const Node::Feeds& feeds_of(const Node::View& view, const Pipelines::Entry& entry) {
  static const Node::Feeds kNone;
  const auto at = view.feeds.find(entry.pipeline.get());
  return at == view.feeds.end() ? kNone : at->second;
}

struct StateOf {
  const char* state;
  std::string reason;
};

StateOf state_of(const Node::View& view, const Pipelines::Entry& entry) {
  if (!entry.pipeline || entry.listing) return {"listing", {}};
  const auto& feeds = feeds_of(view, entry);
  for (const auto& [key, feed] : feeds)
    if (!feed->failure().empty()) return {"failed", feed->failure()};
  if (entry.pipeline->statistics().waiting_out_faults.value() > 0)
    return {"degraded", "samples wait for the source to recover"};
  return {feeds.empty() ? "ready" : "running", {}};
}

json ping_document(const Node::View& view) {
  return {{"daemon", "spdld " SPDLD_VERSION},
          {"daemon_id", view.daemon_id},
          {"pid", getpid()},
          {"uptime_s", view.uptime_s}};
}

// What every document says of a pipeline first.
json heading(const std::string& name, const StateOf& state, uid_t uid) {
  return {{"name", name}, {"state", state.state}, {"reason", state.reason}, {"uid", uid}, {"samples", 0}};
}

json summary(const std::string& name, const StateOf& state, uid_t uid) {
  json out = heading(name, state, uid);
  out.update(
      {{"rings", 0}, {"batches", 0}, {"samples_delivered", 0}, {"bad", 0}, {"cpu_weight", 0.0}, {"cpu_share", 0.0}});
  return out;
}

json summary(const Node::View& view, const Pipelines::Entry& entry) {
  json out = summary(entry.shown_name, state_of(view, entry), entry.uid);
  out["cpu_weight"] = view.pipelines.weight_of(entry);
  if (!entry.pipeline) return out;
  out["cpu_share"] = entry.cpu_share.value();
  const auto& statistics = entry.pipeline->statistics();
  out["samples"] = entry.pipeline->samples();
  out["rings"] = feeds_of(view, entry).size();
  out["batches"] = statistics.batches.value();
  out["samples_delivered"] = statistics.samples.value();
  out["bad"] = entry.pipeline->errors().total();
  return out;
}

// The operator's pipelines that nobody has opened.
std::set<std::string> available(const Node::View& view, const control::Client& client) {
  std::set<std::string> names;
  const auto& folder = view.options.settings.pipelines_dir;
  std::error_code error;
  if (folder.empty()) return names;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (file.path().extension() == ".toml" &&
        may_use(view.options.settings, file.path().stem(), client.uid, client.gid))
      names.insert(file.path().stem());
  for (const auto& [key, entry] : view.pipelines.entries())
    if (entry->named) names.erase(entry->spec.name);
  return names;
}

json list_document(const Node::View& view, const control::Client& client) {
  json pipelines = json::array();
  for (const auto& [key, entry] : view.pipelines.entries())
    if (may_see(view, client, *entry)) pipelines.push_back(summary(view, *entry));
  for (const auto& name : available(view, client)) pipelines.push_back(summary(name, {"available", {}}, geteuid()));
  return {{"pipelines", pipelines}};
}

json gpus_document(const Node::View& view) {
  const memory::GpusReport report = view.gpus.report();
  json devices = json::array();
  for (const auto& gpu : report.gpus)
    devices.push_back({{"uuid", gpu.uuid},
                       {"name", gpu.name},
                       {"state", gpu.state},
                       {"reason", gpu.reason},
                       {"total_bytes", gpu.total_bytes},
                       {"free_bytes", gpu.free_bytes},
                       {"context_bytes", gpu.context_bytes},
                       {"slots", gpu.slots},
                       {"slot_bytes", gpu.slot_bytes},
                       {"quarantined_bytes", view.quarantine.bytes_on(gpu.uuid)},
                       {"staging_bytes", gpu.staging_bytes},
                       {"staging_used_bytes", gpu.staging_used_bytes},
                       {"copies", gpu.copies},
                       {"copied_bytes", gpu.copied_bytes},
                       {"copy_busy_s", seconds(gpu.copy_busy_ns)},
                       {"resets", gpu.resets}});
  return {{"driver", report.driver}, {"reason", report.reason}, {"devices", devices}};
}

json shelf_document(const cache::ShelfReport& shelf) {
  return {{"uri", shelf.key.uri},
          {"field", shelf.key.field},
          {"form", cache::form_name(shelf.key.form)},
          {"in_use", shelf.in_use},
          {"samples", shelf.samples},
          {"memory_entries", shelf.memory_entries},
          {"memory_bytes", shelf.memory_bytes},
          {"disk_entries", shelf.disk_entries},
          {"disk_bytes", shelf.disk_bytes},
          {"memory_hits", shelf.memory_hits},
          {"disk_hits", shelf.disk_hits},
          {"misses", shelf.misses},
          {"stale", shelf.stale},
          {"refused", shelf.refused}};
}

// A shelf names a data set, which is its reader's own business; its sum is everybody's.
json cache_document(const Node::View& view, const control::Client& client) {
  const cache::Report report = view.cache.report();
  json shelves = json::array();
  if (is_owner(client.uid))
    for (const auto& shelf : report.shelves) shelves.push_back(shelf_document(shelf));
  return {{"ram_bytes", report.ram_bytes},   {"ram_bytes_max", report.ram_bytes_max},
          {"disk_bytes", report.disk_bytes}, {"disk_bytes_max", report.disk_bytes_max},
          {"folder", report.folder},         {"disk_trouble", report.disk_trouble},
          {"damaged", report.damaged},       {"shelves", shelves}};
}

json caching_document(const pipeline::Pipeline& pipeline) {
  json fields = json::array();
  for (const auto& shelf : pipeline.caching().report()) fields.push_back(shelf_document(shelf));
  const auto& choice = pipeline.caching().choice();
  return {{"asked", config::cache_form_name(pipeline.spec().cache)},
          {"form", config::cache_form_name(choice.form)},
          {"why", choice.why},
          {"fields", fields}};
}

json tuning_document(const Node::View& view) {
  const pipeline::TunerLimits& limits = view.tuning.limits();
  const pipeline::TunerDecision& decision = view.tuning.decision();
  const auto knob = [](uint32_t now, uint32_t max, uint32_t pinned) {
    return json{{"now", now}, {"max", max}, {"pinned", pinned != 0}};
  };
  return {{"enabled", view.options.settings.tuning_enabled},
          {"decode", knob(decision.decode, limits.decode_max, limits.decode_pinned)},
          {"fetch", knob(decision.fetch, limits.fetch_max, limits.fetch_pinned)},
          {"depth", knob(decision.depth, limits.depth_max, limits.depth_pinned)},
          {"reason", decision.reason},
          {"changes", decision.changes}};
}

json status_document(const Node::View& view, const control::Client& client) {
  json out = ping_document(view);
  const auto& settings = view.options.settings;
  out["private"] = view.options.is_private;
  out["socket"] = settings.socket_path.string();
  out["state"] = view.draining ? "draining" : "running";
  out["cpu"] = {{"text", text_of(view.cpu_limit)},
                {"quota", view.cpu_limit.cgroup_quota},
                {"affinity", view.cpu_limit.affinity},
                {"machine", view.cpu_limit.machine},
                {"numa_nodes", view.cpu_limit.numa_nodes},
                {"decode_concurrency", view.tuning.decision().decode},
                {"fetch_concurrency", view.tuning.decision().fetch},
                {"budget", view.pool.threads()},
                {"cores", view.cpu_limit.cores},
                {"limited_by", settings.cpu_budget ? "setting" : std::string(view.cpu_limit.limited_by)},
                {"used_s", seconds(process_cpu_ns())},
                {"decode_busy_s", seconds(view.pool.busy_ns().value())}};
  out["memory"] = {{"pss_bytes", own_pss_bytes()},
                   {"slot_bytes", view.slot_bytes},
                   {"slot_bytes_max", settings.slot_bytes_max},
                   {"spare_slot_bytes", view.spare_slot_bytes},
                   {"huge_pages", memory::huge_pages()}};
  out["cache"] = cache_document(view, client);
  out["gpus"] = gpus_document(view);
  json sessions = json::array();
  for (const auto& [id, session] : view.server.sessions())
    sessions.push_back({{"id", id},
                        {"client", session->client().name},
                        {"pid", session->client().pid},
                        {"uid", session->client().uid},
                        {"since_s", session->age_s()},
                        {"attachments", session->attachments()}});
  out["sessions"] = sessions;
  out.update(list_document(view, client));
  return out;
}

json stage(const char* name, const pipeline::StageStatistics& statistics, double busy_s, unsigned lanes) {
  const auto& duration = statistics.duration_ns;
  return {{"name", name},
          {"samples", statistics.samples.value()},
          {"bytes", statistics.bytes.value()},
          {"failures", statistics.failures.value()},
          {"lanes", lanes},
          {"busy_s", busy_s},
          {"mean_us", duration.mean() * 1e-3},
          {"p50_us", microseconds(duration.quantile(0.5))},
          {"p99_us", microseconds(duration.quantile(0.99))}};
}

json ring_document(const FeedKey& key, const Feed& feed) {
  const auto& ring = feed.ring();
  const auto levels = ring.levels();
  const auto& statistics = ring.statistics();
  const bool shared = feed.setting().sharing.has_value();
  json pids = json::array(), jobs = json::array();
  for (const auto& [id, seat] : feed.seats()) {
    const bool is_tap = seat.group.empty();
    if (!is_tap) pids.push_back(seat.client.pid);
    if (!shared) continue;
    jobs.push_back({{"group", is_tap ? seat.client.name : seat.group},
                    {"pid", seat.client.pid},
                    {"behind", ring.behind(id)},
                    {"lag_s", seconds(seat.lag_ns)}});
  }
  return {{"group", key.group},
          {"shared", shared},
          {"batch_size", feed.sharding().batch_size()},
          {"copied_from", feed.tap() ? feed.setting().tapped->sharding.batch_size() : 0},
          {"jobs", jobs},
          {"cut_loose", feed.cut_loose()},
          {"rank", key.rank},
          {"world_size", key.world_size},
          {"readers", ring.readers()},
          {"pids", pids},
          {"uid", key.uid},
          {"memory", proto::EnumNameMemoryKind(control::kind_of(feed.kind()))},
          {"gpu", feed.gpu()},
          {"ready_early", feed.setting().ready_early},
          {"access", ring.access() == memory::Access::kWritable ? "writable" : "copy_on_write"},
          {"slots", ring.slots().size()},
          {"slot_bytes", feed.layout().slot_bytes()},
          {"free", levels.free},
          {"filling", levels.filling},
          {"ready", levels.ready},
          {"held", levels.held},
          {"epoch", ring.last().epoch},
          {"step", ring.last().step},
          {"steps_per_epoch", feed.sharding().steps()},
          {"batches", statistics.batches},
          {"starved_s", seconds(statistics.starved_ns)},
          {"full_s", seconds(ring.full_ns())},
          {"fill_p50_us", microseconds(statistics.fill_ns.quantile(0.5))},
          {"fill_p99_us", microseconds(statistics.fill_ns.quantile(0.99))},
          {"held_p50_us", microseconds(statistics.held_ns.quantile(0.5))},
          {"ready_mean", ring.ready_mean()}};
}

json sources_document(const pipeline::Pipeline& pipeline) {
  json sources = json::array();
  if (!pipeline.spec().is_mix()) return sources;
  const auto& specs = pipeline.spec().sources;
  const sampler::Mix& mix = pipeline.mix();
  for (size_t i = 0; i < specs.size(); i++)
    sources.push_back({{"name", specs[i].name},
                       {"samples", mix.sources()[i].order.size()},
                       {"weight", specs[i].weight},
                       {"share", static_cast<double>(mix.share(i)) / static_cast<double>(mix.cycle())}});
  return sources;
}

json describe_document(const Node::View& view, const Pipelines::Entry& entry) {
  json out = heading(entry.shown_name, state_of(view, entry), entry.uid);
  out["spec"] = json::parse(config::full_json(entry.spec));
  out["cpu"] = {{"weight", view.pipelines.weight_of(entry)},
                {"own_weight", entry.spec.cpu_weight},
                {"share", 0.0},
                {"used_s", 0.0}};
  out["fingerprint"] = "", out["stages"] = json::array(), out["rings"] = json::array();
  out["sources"] = json::array();
  out["bad"] = {{"substituted", 0}, {"masked", 0}};
  out["listing"] = {{"seconds", 0.0},           {"bytes", 0},        {"classes", 0},
                    {"remarks", json::array()}, {"remark_count", 0}, {"done", entry.listed},
                    {"total", entry.to_list},   {"kept", 0},         {"read", 0}};
  if (!entry.pipeline) return out;
  const auto& pipeline = *entry.pipeline;
  if (!entry.listing) out["cache"] = caching_document(pipeline);
  out["tuning"] = tuning_document(view);
  out["cpu"]["share"] = entry.cpu_share.value();
  out["cpu"]["used_s"] = seconds(pipeline.lane().busy_ns().value());
  const auto& listing = pipeline.listing();
  const auto& statistics = pipeline.statistics();
  out["fingerprint"] = listing.fingerprint();
  out["samples"] = pipeline.samples();
  out["sources"] = sources_document(pipeline);
  out["listing"] = {{"seconds", pipeline.listing_s()},
                    {"bytes", listing.memory_bytes()},
                    {"classes", listing.classes().size()},
                    {"remarks", std::vector<std::string>(listing.remarks().begin(), listing.remarks().end())},
                    {"remark_count", listing.remark_count()},
                    {"done", listing.size()},
                    {"total", listing.size()},
                    {"kept", entry.kept.taken},
                    {"read", entry.kept.read}};
  out["stages"] = {
      stage("fetch", statistics.fetch, seconds(statistics.fetch.duration_ns.sum()), view.tuning.decision().fetch),
      stage("decode", statistics.decode, seconds(pipeline.lane().busy_ns().value()), view.tuning.decision().decode)};
  out["bad"] = {{"substituted", statistics.substituted.value()}, {"masked", statistics.masked.value()}};
  for (const auto& [key, feed] : feeds_of(view, entry)) out["rings"].push_back(ring_document(key, *feed));
  return out;
}

json errors_document(const Node::View& view, const control::Client& client, std::string_view name) {
  struct Line {
    std::chrono::system_clock::time_point time;
    json line;
  };
  std::vector<Line> lines;
  uint64_t total = 0;
  for (const auto& [key, entry] : view.pipelines.entries()) {
    if (!entry->pipeline || !may_see(view, client, *entry) || (!name.empty() && entry->shown_name != name)) continue;
    total += entry->pipeline->errors().total();
    for (const auto& bad : entry->pipeline->errors().entries())
      lines.push_back({bad.time,
                       {{"time", iso_time(bad.time)},
                        {"pipeline", entry->shown_name},
                        {"sample", bad.sample},
                        {"name", bad.name},
                        {"reason", bad.reason},
                        {"epoch", bad.epoch},
                        {"count", bad.count}}});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.time < b.time; });
  const size_t skip = lines.size() - std::min(lines.size(), pipeline::ErrorLog::kEntriesMax);
  json errors = json::array();
  for (size_t i = skip; i < lines.size(); i++) errors.push_back(std::move(lines[i].line));
  return {{"total", total}, {"errors", errors}};
}

// So many lines of an exported listing as an answer may have, for the next query to go on behind them.
Result<std::string> lines_document(const Pipelines::Entry& entry, std::istringstream& words) {
  const source::Listing& listing = entry.pipeline->listing();
  uint64_t sample = 0;
  if (!(words >> sample) || sample > listing.size())
    return Error{Trouble::kUsage, "\"from\" needs a sample of pipeline " + entry.shown_name + ", which has " +
                                      std::to_string(listing.size())};
  std::string lines = sample == 0 ? source::exported_head(listing) : "";
  for (; sample < listing.size() && lines.size() < kLinesBytesMax; sample++)
    source::append_exported(lines, listing, sample);
  return dump({{"fingerprint", listing.fingerprint()},
               {"listed", listing.size()},
               {"next", sample},
               {"lines", std::move(lines)}});
}

Result<std::string> samples_document(const Pipelines::Entry& entry, std::istringstream& ids) {
  json samples = json::array();
  for (std::string word; ids >> word;) {
    if (word == "from" && samples.empty()) return lines_document(entry, ids);
    uint64_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id >= entry.pipeline->listing().size())
      return Error{Trouble::kUsage, "'" + word + "' is no sample of pipeline " + entry.shown_name + ", which has " +
                                        std::to_string(entry.pipeline->listing().size())};
    if (samples.size() == kSampleIdsMax) return Error{Trouble::kLimit, "at most 1000 samples can be asked for at once"};
    samples.push_back({{"id", id}, {"name", entry.pipeline->listing().name(id)}});
  }
  return dump({{"samples", samples}});
}

}  // namespace

Result<std::string> report(const Node::View& view, const control::Client& client, std::string_view topic,
                           std::string_view argument) {
  if (topic == "ping") return dump(ping_document(view));
  if (topic == "status") return dump(status_document(view, client));
  if (topic == "list") return dump(list_document(view, client));

  std::istringstream words{std::string(argument)};
  std::string name;
  words >> name;
  const Pipelines::Entry* found = nullptr;
  for (const auto& [key, entry] : view.pipelines.entries())
    if (entry->shown_name == name && may_see(view, client, *entry)) found = entry.get();
  if (topic == "errors" && (name.empty() || found)) return dump(errors_document(view, client, name));
  if (!found) {
    if (available(view, client).contains(name))
      return Error{Trouble::kNotFound, "pipeline '" + name + "' is available, but nobody has opened it yet"};
    return Error{Trouble::kNotFound, "no pipeline '" + name + "' is open here: see spdlctl ls"};
  }
  if (topic == "describe") return dump(describe_document(view, *found));
  if (topic == "samples") {
    if (!found->pipeline) return Error{Trouble::kNotFound, "pipeline '" + name + "' is still being listed"};
    return samples_document(*found, words);
  }
  return Error{Trouble::kUsage, "there is no such topic to ask about"};
}

}  // namespace spdld::node
