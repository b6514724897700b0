#include "daemon/node/reports/measuring.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <span>

#include "daemon/base/system/memory_reserve.h"
#include "daemon/base/system/own_process.h"
#include "daemon/node/reports/description.h"

namespace spdld::node {
namespace {

using metrics::NodeFigures;
using metrics::PipelineFigures;

uint64_t descriptors_max() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

// The store that one of the pipeline's remote sources lies in; empty: all sources are local.
std::string store_of(std::span<const metrics::StoreFigures> stores, const config::PipelineSpec& spec) {
  for (const auto& store : stores)
    for (const auto& source : spec.sources)
      for (const std::string& uri : source.uris)
        if (uri.starts_with(store.uri)) return store.uri;
  return {};
}

void add_counts(PipelineFigures& out, const pipeline::PipelineStatistics& counted) {
  out.batches = counted.batches.value();
  out.samples = counted.samples.value();
  out.substituted = counted.substituted.value();
  out.masked = counted.masked.value();
  out.damaged = counted.damaged.value();
  out.unsupported = counted.unsupported.value();
  out.too_long = counted.too_long.value();
  out.dropped = counted.dropped.value();
  out.absent = counted.absent.value();
  out.memory_waits = counted.memory_waits.value();
  out.waiting_for_memory = counted.waiting_for_memory.level();
  out.waiting_out_faults = counted.waiting_out_faults.level() + counted.asked_again.level();
}

void add_process(NodeFigures& out) {
  out.cpu_ns = process_cpu_ns();
  out.throttled_ns = throttled_ns();
  out.descriptors = own_descriptors();
  out.descriptors_max = descriptors_max();
  out.memory_shortages = memory_reserve::shortages();
  for (const RoleUse& use : own_roles()) out.roles.push_back({use.role, use.threads, use.cpu_ns, use.core_wait_ns});
}

void add_gpus(NodeFigures& out, const memory::GpusReport& report) {
  for (const auto& gpu : report.gpus)
    out.gpus.push_back({.uuid = gpu.uuid,
                        .slots = gpu.slots,
                        .slot_bytes = gpu.slot_bytes,
                        .staging_bytes = gpu.staging_bytes,
                        .staging_used_bytes = gpu.staging_used_bytes,
                        .copies = gpu.copies,
                        .copied_bytes = gpu.copied_bytes,
                        .copy_busy_ns = gpu.copy_busy_ns,
                        .resets = gpu.resets});
}

}  // namespace

std::vector<metrics::OperationFigures> operations_of(const pipeline::Pipeline& pipeline) {
  std::vector<metrics::OperationFigures> operations;
  pipeline.plan().for_each_output([&](const std::string& output, const media::WorkTimes& times) {
    std::map<std::string_view, uint64_t> by_name;
    times.for_each([&](std::string_view name, uint64_t ns) { by_name[name] += ns; });
    for (const auto& [name, ns] : by_name) operations.push_back({output, std::string(name), times.samples(), ns, {}});
  });
  for (const auto& stage : pipeline.stages())
    stage->for_each_operation([&](const std::string& output, std::string_view name, uint64_t samples, uint64_t ns) {
      operations.push_back({output, std::string(name), samples, ns, std::string(stage->name())});
    });
  return operations;
}

metrics::StageFigures measure(const State& state, const pipeline::Stage& stage) {
  const pipeline::StageStatistics& counted = stage.statistics();
  metrics::StageFigures out{.name = std::string(stage.name()),
                            .account = stage.account(),
                            .samples = counted.samples.value(),
                            .bytes = counted.bytes.value(),
                            .failures = counted.failures.value(),
                            .busy_ns = stage.busy_ns(),
                            .lanes = stage.concurrency(),
                            .waiting = counted.waiting.level(),
                            .waiting_out_faults = counted.waiting_out_faults.level(),
                            .duration_ns = Distribution::of(counted.duration_ns),
                            .wait_ns = Distribution::of(counted.wait_ns)};
  out.lanes_max = std::max<uint64_t>(state.tuning.lanes_max(stage.account().tuned_as), out.lanes);
  return out;
}

metrics::CacheFigures measure(const cache::ShelfReport& shelf) {
  return {.field = shelf.key.field,
          .form = std::string(cache::form_name(shelf.key)),
          .samples = shelf.samples,
          .memory_entries = shelf.memory_entries,
          .memory_bytes = shelf.memory_bytes,
          .disk_entries = shelf.disk_entries,
          .disk_bytes = shelf.disk_bytes,
          .memory_hits = shelf.memory_hits,
          .disk_hits = shelf.disk_hits,
          .misses = shelf.misses,
          .stale = shelf.stale,
          .refused = shelf.refused};
}

metrics::RingFigures measure(const FeedKey& key, const Feed& feed) {
  const delivery::Ring& ring = feed.ring();
  const delivery::RingStatistics& counted = ring.statistics();
  const auto levels = ring.levels();
  metrics::RingFigures out{.group = key.group,
                           .is_shared = feed.setting().sharing.has_value(),
                           .uid = key.uid,
                           .rank = key.rank,
                           .world_size = key.world_size,
                           .batches = counted.batches,
                           .samples = counted.samples,
                           .starved_ns = counted.starved_ns,
                           .full_ns = ring.full_ns(),
                           .ready_sum = ring.ready_sum(),
                           .slots = ring.slots().size(),
                           .slot_bytes = feed.layout().slot_bytes(),
                           .depth = feed.depth(),
                           .depth_max = feed.depth_max(),
                           .batch_size = feed.sharding().batch_size(),
                           .free = levels.free,
                           .filling = levels.filling,
                           .ready = levels.ready,
                           .held = levels.held,
                           .fill_ns = Distribution::of(counted.fill_ns),
                           .held_ns = Distribution::of(counted.held_ns)};
  for (const auto& [id, seat] : feed.seats()) {
    if (seat.group.empty()) continue;  // another ring takes its batches here
    const auto progress = ring.progress(id);
    out.readers.push_back({.name = seat.client.name,
                           .group = seat.group,
                           .pid = static_cast<uint64_t>(seat.client.pid),
                           .uid = seat.client.uid,
                           .batches = progress.taken,
                           .waited_ns = progress.waited_us * 1000,
                           .leases = ring.leases(id),
                           .behind = ring.behind(id)});
  }
  return out;
}

PipelineFigures measure(const State& state, const Pipelines::Entry& entry,
                        std::span<const metrics::StoreFigures> stores) {
  PipelineFigures out{.name = entry.shown_name,
                      .state = state_of(state, entry).state,
                      .number = entry.number,
                      .uid = entry.uid,
                      .store = store_of(stores, entry.spec)};
  if (!entry.pipeline) return out;
  const pipeline::Pipeline& pipeline = *entry.pipeline;
  add_counts(out, pipeline.statistics());
  out.cpu_ns = pipeline.lane().busy_ns().value();
  if (const auto& budget = pipeline.resources().budget) {
    out.in_flight_bytes = budget->bytes();
    out.in_flight_bytes_max = budget->bytes_max();
    out.in_flight_waits = budget->waits();
  }
  if (const auto& budget = pipeline.resources().memory) {
    out.lent_bytes = budget->bytes();
    out.lent_bytes_max = budget->bytes_max();
    out.lent_waits = budget->waits();
  }
  const auto fields = pipeline.plan().fetched();
  out.can_keep_decoded = !fields.empty() && std::all_of(fields.begin(), fields.end(),
                                                        [](const auto& field) { return field.why_unprepared.empty(); });
  for (const auto& stage : pipeline.stages()) out.stages.push_back(measure(state, *stage));
  out.operations = operations_of(pipeline);
  if (!entry.listing) {  // shelves may be opened on the listing's thread
    out.cache_form = config::cache_form_name(pipeline.caching().choice().form);
    for (const auto& shelf : pipeline.caching().report()) out.caches.push_back(measure(shelf));
  }
  for (const auto& [key, feed] : feeds_of(state, entry)) out.rings.push_back(measure(key, *feed));
  return out;
}

metrics::StoreFigures measure(const store::remote::StoreReport& store, uint64_t now_ns) {
  return {.uri = store.uri,
          .requests = store.requests,
          .failures = store.failures,
          .attempts = store.attempts,
          .retries = store.retries,
          .hedges = store.hedges,
          .bytes = store.bytes,
          .connections = store.connections,
          .under_way = store.under_way,
          .connections_max = store.connections_max,
          .failing_ns = store.failing_since_ns == 0 ? 0 : now_ns - std::min(store.failing_since_ns, now_ns),
          .duration_ns = store.duration_ns};
}

namespace {

// All but the pipelines.
NodeFigures measure_node(const State& state) {
  NodeFigures out;
  out.at_ns = monotonic_ns();
  out.uptime_ns = static_cast<uint64_t>(state.uptime_s * 1e9);
  add_process(out);
  out.pss_bytes = state.pss_bytes;
  out.decode_busy_ns = state.pool.busy_ns().value();
  out.decode_threads = state.pool.threads();
  out.decode_lanes = state.pool.concurrency();
  out.decode_waiting = state.pool.waiting();
  out.slot_bytes = state.slot_bytes;
  out.spare_slot_bytes = state.spare_slot_bytes;
  out.in_flight_bytes = state.pipelines.in_flight().bytes();
  out.in_flight_bytes_max = state.pipelines.in_flight().bytes_max();
  out.in_flight_waits = state.pipelines.in_flight().waits();
  out.lent_bytes = state.pipelines.memory().bytes();
  out.lent_bytes_max = state.pipelines.memory().bytes_max();
  out.lent_waits = state.pipelines.memory().waits();
  const cache::Report cache = state.cache.report();
  out.cache_bytes = cache.ram_bytes;
  out.cache_bytes_max = cache.ram_bytes_max;
  out.cache_disk_bytes = cache.disk_bytes;
  out.cache_disk_bytes_max = cache.disk_bytes_max;
  out.cache_damaged = cache.damaged;
  out.cache_evicted = cache.evicted;
  out.cache_disk_failing = cache.disk_trouble.empty() ? 0 : 1;
  out.sessions = state.server.sessions().size();
  for (const auto& store : state.stores.reports()) out.stores.push_back(measure(store, out.at_ns));
  add_gpus(out, state.gpus.report());
  return out;
}

}  // namespace

NodeFigures measure(const State& state) {
  NodeFigures out = measure_node(state);
  for (const auto& [key, entry] : state.pipelines.entries())
    if (!entry->looks) out.pipelines.push_back(measure(state, *entry, out.stores));
  return out;
}

NodeFigures measure_with(const State& state, const Pipelines::Entry& entry) {
  NodeFigures out = measure_node(state);
  out.pipelines.push_back(measure(state, entry, out.stores));
  return out;
}

void Measuring::look_at_pss(uint64_t now_ns, uint64_t age_ns_max) {
  if (pss_looked_ns_ != 0 && now_ns - pss_looked_ns_ < age_ns_max) return;
  pss_bytes_ = own_pss_bytes();
  pss_looked_ns_ = now_ns;
}

void Measuring::freshen(uint64_t now_ns) { look_at_pss(now_ns, kFreshPssNs); }

void Measuring::tick(const State& state) {
  const uint64_t now_ns = monotonic_ns();
  if (!kHasStatistics || !history_.wants(now_ns)) return;
  look_at_pss(now_ns, kPssNs);
  history_.keep(measure(state));
}

}  // namespace spdld::node
