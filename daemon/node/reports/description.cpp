#include "daemon/node/reports/description.h"
#include "config/batch_shapes.h"

#include "daemon/control/session_reply.h"
#include "daemon/metrics/document.h"
#include "daemon/node/reports/measuring.h"
#include "daemon/node/reports/metrics_document.h"

namespace spdld::node {

using config::Json;

const Seating::Feeds& feeds_of(const State& state, const Pipelines::Entry& entry) {
  static const Seating::Feeds kNone;
  const auto at = state.feeds.find(entry.pipeline.get());
  return at == state.feeds.end() ? kNone : at->second;
}

StateOf state_of(const State& state, const Pipelines::Entry& entry) {
  if (!entry.pipeline || entry.listing) return {"listing", {}};
  const auto& feeds = feeds_of(state, entry);
  for (const auto& [key, feed] : feeds)
    if (!feed->failure().empty()) return {"failed", feed->failure()};
  const pipeline::PipelineStatistics& statistics = entry.pipeline->statistics();
  if (statistics.waiting_out_faults.value() + statistics.asked_again.value() > 0)
    return {"degraded", "samples wait for the source to recover"};
  if (statistics.waiting_for_memory.value() > 0)
    return {"degraded", "the node is short of memory: samples wait for it"};
  return {feeds.empty() ? "ready" : "running", {}};
}

Json heading(const std::string& name, const StateOf& state, uid_t uid) {
  return {{"name", name}, {"state", state.state}, {"reason", state.reason}, {"uid", uid}, {"samples", 0}};
}

Json shelf_document(const cache::ShelfReport& shelf) {
  Json out = metrics::totals_of(measure(shelf));
  out.update({{"uri", shelf.key.uri},
              {"representation", shelf.key.representation},
              {"in_use", shelf.in_use},
              {"memory_left_bytes", shelf.memory_left}});
  return out;
}

namespace {

void add_listing_progress(Json& out, const Pipelines::Entry& entry) {
  Json& listing = out["listing"];
  listing["what"] = entry.listed_what.empty() ? "listing" : "listing " + std::string(entry.listed_what);
  listing["done"] = entry.listed;
  listing["total"] = entry.to_list;
}

// The rooms are what other pipelines' use leaves: bytes that are free, or that nobody uses.
Json caching_document(const State& state, const Sight& sight, const pipeline::Pipeline& pipeline) {
  Json fields = Json::array();
  for (const auto& shelf : pipeline.caching().report()) fields.push_back(shelf_document(shelf));
  const auto& choice = pipeline.caching().choice();
  return {{"asked", config::cache_form_name(pipeline.spec().cache)},
          {"form", config::cache_form_name(choice.form)},
          {"why", choice.why},
          {"disk_trouble", sight.of_everything() ? state.cache.disk_trouble() : ""},
          {"taken", pipeline.caching().taken()},
          {"memory_room_bytes", state.cache.available_bytes()},
          {"disk_room_bytes", state.cache.available_disk_bytes()},
          {"fields", fields}};
}

Json budget_document(const ByteBudget& budget) {
  return {{"bytes", budget.bytes()},
          {"bytes_max", budget.bytes_max()},
          {"peak_bytes", budget.bytes_peak()},
          {"waits", budget.waits()},
          {"waiting", budget.waiting()}};
}

Json tuning_document(const State& state) {
  const pipeline::TunerLimits& limits = state.tuning.limits();
  const pipeline::TunerDecision& decision = state.tuning.decision();
  const auto knob = [](uint32_t now, const pipeline::TunerLimits::Limit& limit, const std::string& unit) {
    return Json{{"now", now}, {"max", limit.max}, {"pinned", limit.pinned != 0}, {"unit", unit}};
  };
  Json out = {{"enabled", state.options.settings.tuning_enabled},
              {"depth", knob(decision.depth, limits.depth, "batches ahead")},
              {"reason", decision.reason},
              {"changes", decision.changes}};
  const std::vector<pipeline::Executor>& executors = state.tuning.executors();
  Json names = Json::array();
  for (size_t i = 0; i < executors.size(); i++) {
    const StageAccount& account = executors[i].tuned.account;
    out[account.name] = knob(decision.stages[i], limits.stages[i], account.lane + "s" + account.behind);
    names.push_back(account.name);
  }
  out["stages"] = names;
  return out;
}

// A document on another user's ring says how the ring fares, and names neither its processes nor its groups.
Json ring_document(const Sight& sight, const FeedKey& key, const Feed& feed) {
  const auto& ring = feed.ring();
  const bool shared = feed.setting().sharing.has_value();
  Json pids = Json::array(), jobs = Json::array();
  const bool is_seen = sight.of_user(key.uid);
  for (const auto& [id, seat] : feed.seats()) {
    if (!is_seen) break;
    const bool is_tap = seat.group.empty();
    if (!is_tap) pids.push_back(seat.client.pid);
    if (!shared) continue;
    jobs.push_back({{"group", is_tap ? seat.client.name : seat.group},
                    {"pid", seat.client.pid},
                    {"behind", ring.behind(id)},
                    {"lag_s", seconds(seat.lag_ns)}});
  }
  metrics::RingFigures figures = measure(key, feed);
  if (!is_seen) {
    figures.group.clear();
    figures.readers.clear();
  }
  Json out = metrics::totals_of(figures);
  out.update({{"copied_from", feed.tap() ? feed.tap()->theirs().sharding.batch_size() : 0},
              {"jobs", jobs},
              {"cut_loose", feed.cut_loose()},
              {"readers", ring.readers()},
              {"pids", pids},
              {"memory", proto::EnumNameMemoryKind(control::kind_of(feed.kind()))},
              {"gpu", feed.gpu()},
              {"ready_early", feed.ready_early()},
              {"access", ring.access() == memory::Access::kWritable ? "writable" : "copy_on_write"},
              {"epoch", ring.last().epoch},
              {"step", ring.last().step},
              {"steps_per_epoch", feed.sharding().steps()}});
  return out;
}

// Of an order by cost or by shape: one entry for each bucket.
Json buckets_document(const pipeline::Pipeline& pipeline) {
  Json buckets = Json::array();
  if (pipeline.buckets() == nullptr) return buckets;
  if (const auto shapes = config::batch_shapes_of(pipeline.spec().outputs)) {
    for (const auto& bucket : pipeline.buckets()->list()) {
      const config::PictureSize& size = shapes->sizes.at(bucket.shape);
      buckets.push_back({{"height", size.height}, {"width", size.width}, {"samples", bucket.size}});
    }
    return buckets;
  }
  for (const auto& bucket : pipeline.buckets()->list())
    buckets.push_back({{"edge", bucket.edge},
                       {"samples", bucket.size},
                       {"batch_size", bucket.batch_size},
                       {"padding", sampler::padding_of(bucket)}});
  return buckets;
}

Json sources_document(const pipeline::Pipeline& pipeline) {
  Json sources = Json::array();
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

}  // namespace

Json describe_document(const State& state, const Sight& sight, const Pipelines::Entry& entry) {
  StateOf told = state_of(state, entry);
  told.reason = sight.sentence(entry, told.reason);
  Json out = heading(entry.shown_name, told, entry.uid);
  out["spec"] = config::full_document(sight.spec(entry));
  out["cpu"] = {{"weight", state.pipelines.weight_of(entry)},
                {"own_weight", entry.spec.cpu_weight},
                {"user_weight", state.pipelines.user_weight_of(entry)},
                {"share", 0.0},
                {"used_s", 0.0}};
  out["fingerprint"] = "";
  out["code"] = "";
  out["stages"] = Json::array();
  out["operations"] = Json::array();
  out["rings"] = Json::array();
  out["sources"] = Json::array();
  out["buckets"] = Json::array();
  out["bad"] = {{"substituted", 0}, {"masked", 0},   {"absent", 0}, {"damaged", 0},
                {"unsupported", 0}, {"too_long", 0}, {"dropped", 0}};
  out["memory"] = {{"waits", 0}, {"waiting", 0}};
  out["in_flight"] = budget_document(ByteBudget(state.pipelines.limits().in_flight.pipeline_bytes));
  out["lent"] = budget_document(ByteBudget(state.pipelines.limits().memory.pipeline_bytes));
  out["listing"] = {{"seconds", 0.0},           {"bytes", 0},        {"classes", 0},
                    {"remarks", Json::array()}, {"remark_count", 0}, {"missing", Json::array()},
                    {"missing_count", 0},       {"kept", 0},         {"read", 0}};
  if (entry.listing) add_listing_progress(out, entry);
  out["verdict"] = verdict_document_on(state, sight, entry);
  if (!entry.pipeline) return out;
  const auto& pipeline = *entry.pipeline;
  if (!entry.listing) out["cache"] = caching_document(state, sight, pipeline);
  out["tuning"] = tuning_document(state);
  out["cpu"]["share"] = entry.cpu_share.value();
  out["cpu"]["used_s"] = seconds(pipeline.lane().busy_ns().value());
  const auto& listing = pipeline.listing();
  const source::Remarks remarks = pipeline.remarks();
  const auto sentences = [&](const std::vector<std::string>& texts) {
    Json list = Json::array();
    for (const std::string& text : texts) list.push_back(sight.sentence(entry, text));
    return list;
  };
  const auto& statistics = pipeline.statistics();
  out["fingerprint"] = listing.fingerprint();
  out["code"] = pipeline.plan().code();
  if (const std::string digits = pipeline.plan().side_digits(); !digits.empty()) out["side_files"] = digits;
  out["samples"] = pipeline.samples();
  out["sources"] = sources_document(pipeline);
  out["buckets"] = buckets_document(pipeline);
  if (pipeline.spec().batch.cost)
    out["padding"] = {{"of_buckets", pipeline.buckets()->padding()},
                      {"of_one_bucket", sampler::padding_without_buckets(*pipeline.buckets())}};
  out["listing"] = {{"seconds", pipeline.listing_s()},
                    {"bytes", listing.memory_bytes()},
                    {"classes", listing.classes().size()},
                    {"remarks", sentences(remarks.all().first)},
                    {"remark_count", remarks.all().count},
                    {"missing", sentences(remarks.missing().first)},
                    {"missing_count", remarks.missing().count},
                    {"what", "listing samples"},
                    {"done", listing.size()},
                    {"total", listing.size()},
                    {"kept", entry.kept.taken},
                    {"read", entry.kept.read}};
  if (entry.listing) add_listing_progress(out, entry);
  for (const auto& stage : pipeline.stages()) out["stages"].push_back(metrics::totals_of(measure(state, *stage)));
  for (const auto& operation : operations_of(pipeline)) out["operations"].push_back(metrics::totals_of(operation));
  out["bad"] = {{"substituted", statistics.substituted.value()}, {"masked", statistics.masked.value()},
                {"absent", statistics.absent.value()},           {"damaged", statistics.damaged.value()},
                {"unsupported", statistics.unsupported.value()}, {"too_long", statistics.too_long.value()},
                {"dropped", statistics.dropped.value()}};
  if (const auto& trimmed = pipeline.plan().trimmed(); trimmed.samples.value() > 0)
    out["trimmed"] = {{"samples", trimmed.samples.value()}, {"last", trimmed.last.load(std::memory_order_relaxed)}};
  out["memory"] = {{"waits", statistics.memory_waits.value()}, {"waiting", statistics.waiting_for_memory.value()}};
  out["in_flight"] = budget_document(*pipeline.resources().budget);
  out["lent"] = budget_document(*pipeline.resources().memory);
  for (const auto& [key, feed] : feeds_of(state, entry)) out["rings"].push_back(ring_document(sight, key, *feed));
  return out;
}

}  // namespace spdld::node
