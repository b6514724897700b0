#include "daemon/node/reports/reports.h"

#include <unistd.h>

#include "config/text/words.h"
#include "daemon/base/formats/utc_time.h"
#include "daemon/base/system/memory_reserve.h"
#include "daemon/metrics/document.h"
#include "daemon/node/access/access.h"
#include "daemon/node/reports/description.h"
#include "daemon/node/reports/finding.h"
#include "daemon/node/reports/measuring.h"
#include "daemon/node/reports/metrics_document.h"
#include "daemon/node/reports/samples_document.h"
#include "daemon/node/reports/sight.h"

namespace spdld::node {
namespace {

using config::Json;

std::string dump(const Json& document) { return document.dump(); }

Json ping_document(const State& state) {
  return {{"daemon", "spdld " SPDLD_VERSION},
          {"daemon_id", state.daemon_id},
          {"pid", getpid()},
          {"uptime_s", state.uptime_s}};
}

Json summary(const std::string& name, const StateOf& state, uid_t uid) {
  Json out = heading(name, state, uid);
  out.update(
      {{"rings", 0}, {"batches", 0}, {"samples_delivered", 0}, {"bad", 0}, {"cpu_weight", 0.0}, {"cpu_share", 0.0}});
  return out;
}

Json summary(const State& state, const Sight& sight, const Pipelines::Entry& entry) {
  StateOf told = state_of(state, entry);
  told.reason = sight.sentence(entry, told.reason);
  Json out = summary(entry.shown_name, told, entry.uid);
  out["cpu_weight"] = state.pipelines.weight_of(entry);
  if (!entry.pipeline) return out;
  out["cpu_share"] = entry.cpu_share.value();
  const auto& statistics = entry.pipeline->statistics();
  out["samples"] = entry.pipeline->samples();
  out["rings"] = feeds_of(state, entry).size();
  out["batches"] = statistics.batches.value();
  out["samples_delivered"] = statistics.samples.value();
  out["bad"] = statistics.damaged.value() + statistics.unsupported.value();
  return out;
}

Json list_document(const State& state, Asker asker) {
  Json pipelines = Json::array();
  const Sight sight(state, asker);
  for (const auto& [key, entry] : state.pipelines.entries())
    if (sight.of(*entry)) pipelines.push_back(summary(state, sight, *entry));
  for (const auto& name : available_pipelines(state, asker))
    pipelines.push_back(summary(name, {"available", {}}, geteuid()));
  return {{"pipelines", pipelines}};
}

Json gpus_document(const State& state) {
  const memory::GpusReport report = state.gpus.report();
  Json devices = Json::array();
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
                       {"quarantined_bytes", state.quarantine.bytes_on(gpu.uuid)},
                       {"staging_bytes", gpu.staging_bytes},
                       {"staging_used_bytes", gpu.staging_used_bytes},
                       {"copies", gpu.copies},
                       {"copied_bytes", gpu.copied_bytes},
                       {"copy_busy_s", seconds(gpu.copy_busy_ns)},
                       {"resets", gpu.resets}});
  return {{"driver", report.driver}, {"reason", report.reason}, {"devices", devices}};
}

// A shelf names a data set, which is its reader's own business; its sum is everybody's.
Json cache_document(const State& state, Asker asker) {
  const cache::Report report = state.cache.report();
  Json shelves = Json::array();
  const bool owns = asker.is_owner();
  if (owns)
    for (const auto& shelf : report.shelves) shelves.push_back(shelf_document(shelf));
  return {{"ram_bytes", report.ram_bytes},       {"ram_bytes_max", report.ram_bytes_max},
          {"disk_bytes", report.disk_bytes},     {"disk_bytes_max", report.disk_bytes_max},
          {"folder", owns ? report.folder : ""}, {"disk_trouble", owns ? report.disk_trouble : ""},
          {"damaged", report.damaged},           {"shelves", shelves}};
}

// The names of stores are the owner's business.
Json stores_document(const State& state, Asker asker) {
  Json stores = Json::array();
  if (!asker.is_owner()) return stores;
  for (const auto& store : state.stores.reports()) {
    Json entry = metrics::totals_of(measure(store, monotonic_ns()));
    entry["last_trouble"] = store.last_trouble;
    stores.push_back(std::move(entry));
  }
  return stores;
}

Json limits_document(const State& state) {
  const auto& settings = state.options.settings;
  const control::UserLimits& sessions = state.server.users().limits();
  return {{"sessions_max", sessions.sessions_max},
          {"sessions_reserve", sessions.sessions_reserve},
          {"slot_files_max", slot_files_max()},
          {"sessions_per_user_max", sessions.sessions_per_user_max},
          {"pipelines_per_user_max", settings.pipelines_per_user_max},
          {"rings_per_user_max", settings.rings_per_user_max},
          {"slots_per_user_max", settings.slots_per_user_max},
          {"slot_bytes_per_user_max", settings.slot_bytes_per_user_max},
          {"inflight_bytes_max", state.pipelines.in_flight().bytes_max()},
          {"inflight_bytes_per_pipeline_max", state.pipelines.limits().in_flight.pipeline_bytes},
          {"inflight_bytes_per_user_max", settings.inflight_bytes_per_user_max},
          {"decode_bytes_max", state.decode_memory.bytes_max},
          {"decode_bytes_per_thread", state.decode_memory.bytes_per_thread},
          {"decode_bytes_per_pipeline_max", state.pipelines.limits().memory.pipeline_bytes},
          {"decode_bytes_per_user_max", state.pipelines.limits().memory.user_bytes},
          {"side_bytes_per_user_max", settings.side_bytes_per_user_max},
          {"listings_per_user_max", settings.listings_per_user_max},
          {"listing_bytes_max", state.pipelines.limits().listing.node_bytes},
          {"listing_bytes_per_user_max", state.pipelines.limits().listing.user_bytes},
          {"listing_s_max", settings.listing_s_max},
          {"queries_per_user_s_max", sessions.queries_per_user_s_max},
          {"silent_ms_max", settings.silent_ms_max}};
}

// Each user's part of the node; other users' parts are for the owners alone.
Json users_document(const State& state, Asker asker) {
  std::map<uid_t, Json> of_user;
  const auto entry_of = [&](uid_t uid) -> Json& {
    Json& entry = of_user[uid];
    if (!entry.is_null()) return entry;
    const ByteBudget* in_flight = state.pipelines.in_flight(uid);
    const MemoryAccount* listing = state.pipelines.listing_memory(uid);
    const ByteBudget* lent = state.pipelines.memory(uid);
    entry = {{"uid", uid},
             {"limited", !is_owner(uid)},
             {"sessions", 0},
             {"pipelines", state.pipelines.count_in_use(uid)},
             {"rings", 0},
             {"slots", 0},
             {"slot_bytes", 0},
             {"inflight_bytes", in_flight ? in_flight->bytes() : 0},
             {"inflight_waits", in_flight ? in_flight->waits() : 0},
             {"listing_bytes", listing ? listing->bytes() : 0},
             {"lent_bytes", lent ? lent->bytes() : 0},
             {"lent_waits", lent ? lent->waits() : 0},
             {"queries", 0},
             {"waits", 0},
             {"refused", 0},
             {"unlogged", 0},
             {"control_s", 0.0}};
    return entry;
  };
  const bool sees_all = asker.is_owner();
  for (const auto& [uid, share] : state.server.users().shares()) {
    if (!sees_all && !asker.has_uid(uid)) continue;
    Json& entry = entry_of(uid);
    entry["sessions"] = share.sessions;
    entry["queries"] = share.queried;
    entry["waits"] = share.waits;
    entry["refused"] = share.refused;
    entry["unlogged"] = share.unlogged;
    entry["control_s"] = share.time_taken_s;
  }
  for (const auto& [uid, use] : state.ring_use) {
    if (!sees_all && !asker.has_uid(uid)) continue;
    Json& entry = entry_of(uid);
    entry["rings"] = use.rings;
    entry["slots"] = use.slots;
    entry["slot_bytes"] = use.host_bytes;
  }
  Json users = Json::array();
  for (auto& [uid, entry] : of_user) users.push_back(std::move(entry));
  return users;
}

Json status_document(const State& state, Asker asker) {
  Json out = ping_document(state);
  const auto& settings = state.options.settings;
  out["private"] = state.options.is_private;
  out["socket"] = settings.socket_path.string();
  out["state"] = state.draining ? "draining" : "running";
  out["cpu"] = {{"text", text_of(state.cpu_limit)},
                {"quota", state.cpu_limit.cgroup_quota},
                {"affinity", state.cpu_limit.affinity},
                {"machine", state.cpu_limit.machine},
                {"numa_nodes", state.cpu_limit.numa_nodes},
                {"decode_concurrency", state.tuning.lanes("decode")},
                {"fetch_concurrency", state.tuning.lanes("fetch")},
                {"budget", state.pool.threads()},
                {"cores", state.cpu_limit.cores},
                {"limited_by", settings.cpu_budget ? "setting" : std::string(state.cpu_limit.limited_by)},
                {"used_s", seconds(process_cpu_ns())},
                {"decode_busy_s", seconds(state.pool.busy_ns().value())}};
  out["memory"] = {{"pss_bytes", state.pss_bytes},
                   {"slot_bytes", state.slot_bytes},
                   {"slot_bytes_max", settings.slot_bytes_max},
                   {"spare_slot_bytes", state.spare_slot_bytes},
                   {"inflight_bytes", state.pipelines.in_flight().bytes()},
                   {"inflight_peak_bytes", state.pipelines.in_flight().bytes_peak()},
                   {"inflight_waits", state.pipelines.in_flight().waits()},
                   {"listing_bytes", state.pipelines.listing_memory().bytes()},
                   {"lent_bytes", state.pipelines.memory().bytes()},
                   {"lent_bytes_max", state.pipelines.memory().bytes_max()},
                   {"lent_peak_bytes", state.pipelines.memory().bytes_peak()},
                   {"lent_waits", state.pipelines.memory().waits()},
                   {"waits", memory_waits(state)},
                   {"shortages", memory_reserve::shortages()},
                   {"huge_pages", memory::huge_pages()}};
  out["decode"] = {{"sample_ms_max", settings.sample_ms_max},
                   {"sample_bytes_max", settings.sample_bytes_max},
                   {"jpeg", settings.jpeg_by_libjpeg ? "libjpeg-turbo" : "auto"}};
  out["cache"] = cache_document(state, asker);
  const source::RemoteStatistics& remote = state.router.statistics();
  out["stores"] = stores_document(state, asker);
  out["store_reads"] = {{"samples", remote.samples.value()},
                        {"bytes", remote.bytes.value()},
                        {"failures", remote.failures.value()},
                        {"shared", remote.shared.value()}};
  out["gpus"] = gpus_document(state);
  out["limits"] = limits_document(state);
  out["users"] = users_document(state, asker);
  Json sessions = Json::array();
  const Sight sight(state, asker);
  for (const auto& [id, session] : state.server.sessions())
    if (sight.of(session->client()))
      sessions.push_back({{"id", id},
                          {"client", session->client().name},
                          {"pid", session->client().pid},
                          {"uid", session->client().uid},
                          {"since_s", session->age_s()},
                          {"attachments", session->attachments()}});
  out["sessions"] = sessions;
  out["session_count"] = state.server.sessions().size();
  out.update(list_document(state, asker));
  return out;
}

Json errors_document(const State& state, Asker asker, std::string_view name) {
  struct Line {
    std::chrono::system_clock::time_point time;
    Json line;
  };
  std::vector<Line> lines;
  uint64_t total = 0, substituted = 0, masked = 0, absent = 0, dropped = 0, missing_count = 0;
  Json missing = Json::array();
  const Sight sight(state, asker);
  for (const auto& [key, entry] : state.pipelines.entries()) {
    if (!entry->pipeline || (!name.empty() && entry->shown_name != name) || !sight.of(*entry)) continue;
    total += entry->pipeline->errors().total();
    substituted += entry->pipeline->statistics().substituted.value();
    masked += entry->pipeline->statistics().masked.value();
    absent += entry->pipeline->statistics().absent.value();
    dropped += entry->pipeline->statistics().dropped.value();
    const source::Remarks remarks = entry->pipeline->remarks();
    missing_count += remarks.missing().count;
    for (const std::string& what : remarks.missing().first)
      if (missing.size() < pipeline::ErrorLog::kEntriesMax)
        missing.push_back({{"pipeline", entry->shown_name}, {"what", sight.sentence(*entry, what)}});
    for (const auto& bad : entry->pipeline->errors().entries())
      lines.push_back({bad.last,
                       {{"first", utc_text(bad.first)},
                        {"last", utc_text(bad.last)},
                        {"pipeline", entry->shown_name},
                        {"sample", bad.sample},
                        {"name", bad.name},
                        {"reason", sight.sentence(*entry, bad.reason)},
                        {"kind", batch::flaw_name(bad.kind)},
                        {"first_epoch", bad.first_epoch},
                        {"last_epoch", bad.last_epoch},
                        {"count", bad.count}}});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.time < b.time; });
  const size_t skip = lines.size() - std::min(lines.size(), pipeline::ErrorLog::kEntriesMax);
  Json errors = Json::array();
  for (size_t i = skip; i < lines.size(); i++) errors.push_back(std::move(lines[i].line));
  return {{"daemon_id", state.daemon_id},
          {"total", total},
          {"substituted", substituted},
          {"masked", masked},
          {"absent", absent},
          {"dropped", dropped},
          {"errors", errors},
          {"missing_count", missing_count},
          {"missing", missing}};
}

// Of the pipeline of this name; "": of all that the asker may see.
Json node_metrics(const State& state, Asker asker, const std::string& name) {
  Json document = ping_document(state);
  document.update(metrics_document(state, Sight(state, asker), name));
  return document;
}

}  // namespace

uint64_t errors_total(const State& state) {
  uint64_t total = 0;
  for (const auto& [key, entry] : state.pipelines.entries())
    if (entry->pipeline && !entry->looks) total += entry->pipeline->errors().total() + entry->pipeline->missing_count();
  return total;
}

uint64_t memory_waits(const State& state) {
  uint64_t waits = 0;
  for (const auto& [key, entry] : state.pipelines.entries())
    if (entry->pipeline) waits += entry->pipeline->statistics().memory_waits.value();
  return waits;
}

std::string last_errors_document(const State& state) {
  Json document = errors_document(state, Asker::owner(), {});
  document["daemon"] = "spdld " SPDLD_VERSION;
  document["pid"] = getpid();
  document["written"] = utc_text(std::chrono::system_clock::now());
  return dump(document);
}

Result<std::string> report(const State& state, Asker asker, std::string_view topic, std::string_view argument) {
  if (topic == "ping") return dump(ping_document(state));
  if (topic == "status") return dump(status_document(state, asker));
  if (topic == "list") return dump(list_document(state, asker));

  const Question question = question_in(argument);
  if (topic == "metrics" && argument.empty()) return dump(node_metrics(state, asker, {}));
  if (topic == "errors" && argument.empty()) return dump(errors_document(state, asker, {}));
  const auto found = question.group.empty() ? find_pipeline(state, asker, question.name)
                                            : find_pipeline_of(state, asker, question.name, question.group);
  if (!found) return found.error();
  if ((*found)->looks && topic != "samples") return not_open(question.name);
  if (topic == "metrics") return dump(node_metrics(state, asker, (*found)->shown_name));
  if (topic == "errors") return dump(errors_document(state, asker, (*found)->shown_name));
  if (topic == "describe") return dump(describe_document(state, Sight(state, asker), **found));
  if (topic == "samples") {
    if (!(*found)->pipeline) return still_being_listed(question.name);
    return samples_document(state, **found, question);
  }
  return Error{Trouble::kUsage, "there is no such topic to ask about"};
}

}  // namespace spdld::node
