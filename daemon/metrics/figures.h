// Figures: all that was measured of the node at one moment, and the one place from which every document, page and
// metric takes its numbers. A node is made of parts (stages, rings, readers, ...), each a plain struct. Its schema
// names each number once, with its unit, whether it only grows, and a sentence; documents, differences and metrics walk
// over the schemas.
//
// A number that only grows counts since the part began. Times are nanoseconds. Plain values; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/distribution.h"
#include "daemon/base/stage_account.h"

namespace spdld::metrics {

enum class MetricType : uint8_t {
  kCounter,  // only grows
  kLevel     // goes up and down
};
enum class Unit : uint8_t { kCount, kBytes, kNanoseconds };

template <typename Figures>
struct Number {
  std::string_view name;  // "samples"; a time's name has no unit, and the name of bytes has "bytes" in it
  MetricType type;
  Unit unit;
  uint64_t Figures::*at;
  std::string_view help;  // one sentence
};

template <typename Figures>
struct Times {
  std::string_view name;      // "fill"
  std::string_view prefix;    // of its keys in documents: "fill_" gives "fill_p50_us"
  Distribution Figures::*at;  // of nanoseconds
  std::string_view help;
};

// An operation of a pipeline's outputs, or a part of one. Its time is measured for one sample in many.
struct OperationFigures {
  std::string output = {}, op = {};
  uint64_t samples = 0;    // that were measured
  uint64_t busy_ns = 0;    // in which these samples were worked on
  std::string stage = {};  // that does it; empty: the stages on the pool
};

struct StageFigures {
  std::string name = {};  // of its account: "fetch", "decode"
  StageAccount account = {};
  uint64_t samples = 0, bytes = 0, failures = 0;
  uint64_t busy_ns = 0;                         // of all lanes together; on the pool: CPU time
  uint64_t lanes = 0, lanes_max = 0;            // samples at once: now, and as far as limits allow
  uint64_t waiting = 0;                         // samples that wait for a lane now
  uint64_t waiting_out_faults = 0;              // samples whose work has failed and is tried again
  Distribution duration_ns = {}, wait_ns = {};  // of one sample: the work, and the wait for a lane before it
};

// The cache's part for one field of a pipeline's samples.
struct CacheFigures {
  std::string field = {}, form = {};
  uint64_t samples = 0;  // of the data set
  uint64_t memory_entries = 0, memory_bytes = 0, disk_entries = 0, disk_bytes = 0;
  uint64_t memory_hits = 0, disk_hits = 0, misses = 0, stale = 0, refused = 0;
};

// A trainer's place at a ring.
struct ReaderFigures {
  std::string name = {}, group = {};
  uint64_t pid = 0, uid = 0;
  uint64_t batches = 0;    // that next() has handed out
  uint64_t waited_ns = 0;  // in next(), with room for a batch
  uint64_t leases = 0, behind = 0;
};

struct RingFigures {
  std::string group = {};  // of the job; empty: shared by several jobs
  bool is_shared = false;
  uint64_t uid = 0;
  uint64_t rank = 0, world_size = 1;
  uint64_t batches = 0, samples = 0;
  uint64_t starved_ns = 0;  // trainers had room and no batch was ready
  uint64_t full_ns = 0;     // no slot was free to be filled
  uint64_t ready_sum = 0;   // batches that lay ready when the next one came, added up
  uint64_t slots = 0, slot_bytes = 0, depth = 0, depth_max = 0, batch_size = 0;
  uint64_t free = 0, filling = 0, ready = 0, held = 0;
  Distribution fill_ns = {}, held_ns = {};  // of one batch
  std::vector<ReaderFigures> readers = {};
};

struct PipelineFigures {
  std::string name = {}, state = {};
  uint64_t number = 0;  // tells it from an earlier pipeline of the same name
  uint64_t uid = 0;
  uint64_t batches = 0, samples = 0;
  uint64_t substituted = 0, masked = 0, damaged = 0, unsupported = 0, too_long = 0;
  uint64_t absent = 0, dropped = 0;
  uint64_t cpu_ns = 0;
  uint64_t in_flight_bytes = 0, in_flight_bytes_max = 0, in_flight_waits = 0;
  uint64_t lent_bytes = 0, lent_bytes_max = 0, lent_waits = 0;  // memory that samples were lent for decoding
  uint64_t memory_waits = 0, waiting_for_memory = 0, waiting_out_faults = 0;
  double waiting = 0, full = 0;           // of a window: the shares of time that Rates tells
  std::string store = {};                 // the remote store that it reads from; empty: local files
  bool can_keep_decoded = false;          // all of its pictures have a form that the cache can keep decoded
  std::string cache_form = {};            // off, encoded, indexed, packed, decoded
  std::vector<StageFigures> stages = {};  // in the order of a sample's way
  std::vector<OperationFigures> operations = {};
  std::vector<CacheFigures> caches = {};
  std::vector<RingFigures> rings = {};
};

struct StoreFigures {
  std::string uri = {};
  uint64_t requests = 0, failures = 0, attempts = 0, retries = 0, hedges = 0;
  uint64_t bytes = 0, connections = 0, under_way = 0, connections_max = 0, failing_ns = 0;
  Distribution duration_ns = {};
};

struct GpuFigures {
  std::string uuid = {};
  uint64_t slots = 0, slot_bytes = 0, staging_bytes = 0, staging_used_bytes = 0;
  uint64_t copies = 0, copied_bytes = 0, copy_busy_ns = 0, resets = 0;
};

// The daemon's threads of one role, by their names.
struct RoleFigures {
  std::string role = {};  // "decode", "fetch", "control", ...
  uint64_t threads = 0, cpu_ns = 0;
  uint64_t core_wait_ns = 0;  // in which they could have run, and other threads had the cores
};

struct NodeFigures {
  uint64_t at_ns = 0;  // monotonic
  uint64_t uptime_ns = 0;
  uint64_t cpu_ns = 0, decode_busy_ns = 0;
  uint64_t decode_threads = 0, decode_lanes = 0, decode_waiting = 0;
  uint64_t throttled_ns = 0;  // that the cgroup's CPU quota has held threads back
  uint64_t pss_bytes = 0, descriptors = 0, descriptors_max = 0;
  uint64_t slot_bytes = 0, spare_slot_bytes = 0;
  uint64_t in_flight_bytes = 0, in_flight_bytes_max = 0, in_flight_waits = 0;
  uint64_t lent_bytes = 0, lent_bytes_max = 0, lent_waits = 0;  // memory that samples were lent for decoding
  uint64_t memory_shortages = 0;
  uint64_t cache_bytes = 0, cache_bytes_max = 0, cache_disk_bytes = 0, cache_disk_bytes_max = 0;
  uint64_t cache_damaged = 0, cache_evicted = 0;
  uint64_t cache_disk_failing = 0;  // 1: the cache's folder is not used, since something is wrong with it
  uint64_t sessions = 0;
  std::vector<RoleFigures> roles = {};
  std::vector<PipelineFigures> pipelines = {};
  std::vector<StoreFigures> stores = {};
  std::vector<GpuFigures> gpus = {};
};

// The names of a part's numbers.
template <typename Figures>
struct Schema;

template <>
struct Schema<OperationFigures> {
  using Figures = OperationFigures;
  static constexpr std::string_view kName = "operation";
  static constexpr std::array<Number<Figures>, 2> kNumbers = {{
      {"samples", MetricType::kCounter, Unit::kCount, &Figures::samples, "Samples whose operations were timed."},
      {"busy", MetricType::kCounter, Unit::kNanoseconds, &Figures::busy_ns,
       "Time of the operation on the timed samples."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<StageFigures> {
  using Figures = StageFigures;
  static constexpr std::string_view kName = "stage";
  static constexpr std::array<Number<Figures>, 8> kNumbers = {{
      {"samples", MetricType::kCounter, Unit::kCount, &Figures::samples, "Samples that the stage has finished."},
      {"bytes", MetricType::kCounter, Unit::kBytes, &Figures::bytes,
       "Bytes of the samples that the stage has finished."},
      {"failures", MetricType::kCounter, Unit::kCount, &Figures::failures, "Samples on which the stage has failed."},
      {"busy", MetricType::kCounter, Unit::kNanoseconds, &Figures::busy_ns, "Time of work, of all lanes together."},
      {"lanes", MetricType::kLevel, Unit::kCount, &Figures::lanes, "Samples that the stage may work on at once now."},
      {"lanes_max", MetricType::kLevel, Unit::kCount, &Figures::lanes_max,
       "Samples at once, as far as the limits allow."},
      {"waiting", MetricType::kLevel, Unit::kCount, &Figures::waiting, "Samples that wait for a lane now."},
      {"waiting_out_faults", MetricType::kLevel, Unit::kCount, &Figures::waiting_out_faults,
       "Samples on which the stage has failed, and which it tries again."},
  }};
  static constexpr std::array<Times<Figures>, 2> kTimes = {{
      {"duration", "", &Figures::duration_ns, "Time of the work on one sample."},
      {"wait", "wait_", &Figures::wait_ns, "Time for which one sample waited for a lane."},
  }};
};

template <>
struct Schema<CacheFigures> {
  using Figures = CacheFigures;
  static constexpr std::string_view kName = "cache";
  static constexpr std::array<Number<Figures>, 10> kNumbers = {{
      {"samples", MetricType::kLevel, Unit::kCount, &Figures::samples, "Samples of the data set."},
      {"memory_entries", MetricType::kLevel, Unit::kCount, &Figures::memory_entries,
       "Samples that are kept in memory."},
      {"memory_bytes", MetricType::kLevel, Unit::kBytes, &Figures::memory_bytes, "Bytes that are kept in memory."},
      {"disk_entries", MetricType::kLevel, Unit::kCount, &Figures::disk_entries,
       "Samples that are kept on the cache's disk."},
      {"disk_bytes", MetricType::kLevel, Unit::kBytes, &Figures::disk_bytes,
       "Bytes that are kept on the cache's disk."},
      {"memory_hits", MetricType::kCounter, Unit::kCount, &Figures::memory_hits,
       "Look-ups that found their sample in memory."},
      {"disk_hits", MetricType::kCounter, Unit::kCount, &Figures::disk_hits,
       "Look-ups that found their sample on the disk."},
      {"misses", MetricType::kCounter, Unit::kCount, &Figures::misses, "Look-ups that did not find their sample."},
      {"stale", MetricType::kCounter, Unit::kCount, &Figures::stale, "Kept samples whose file had changed."},
      {"refused", MetricType::kCounter, Unit::kCount, &Figures::refused, "Samples for which the cache had no room."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<ReaderFigures> {
  using Figures = ReaderFigures;
  static constexpr std::string_view kName = "reader";
  static constexpr std::array<Number<Figures>, 6> kNumbers = {{
      {"pid", MetricType::kLevel, Unit::kCount, &Figures::pid, "The trainer's process."},
      {"uid", MetricType::kLevel, Unit::kCount, &Figures::uid, "The trainer's user."},
      {"batches", MetricType::kCounter, Unit::kCount, &Figures::batches, "Batches that next() has handed out."},
      {"waited", MetricType::kCounter, Unit::kNanoseconds, &Figures::waited_ns,
       "Time in next() with room for a batch."},
      {"leases", MetricType::kLevel, Unit::kCount, &Figures::leases,
       "Batches that were sent to the trainer and not released."},
      {"behind", MetricType::kLevel, Unit::kCount, &Figures::behind, "Batches that wait for the trainer in the ring."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<RingFigures> {
  using Figures = RingFigures;
  static constexpr std::string_view kName = "ring";
  static constexpr std::array<Number<Figures>, 17> kNumbers = {{
      {"uid", MetricType::kLevel, Unit::kCount, &Figures::uid, "The user whose job the ring serves."},
      {"rank", MetricType::kLevel, Unit::kCount, &Figures::rank, "The rank that the ring serves."},
      {"world_size", MetricType::kLevel, Unit::kCount, &Figures::world_size, "The ranks of the job."},
      {"batches", MetricType::kCounter, Unit::kCount, &Figures::batches, "Batches that were filled."},
      {"samples", MetricType::kCounter, Unit::kCount, &Figures::samples, "Samples of the batches that were filled."},
      {"starved", MetricType::kCounter, Unit::kNanoseconds, &Figures::starved_ns,
       "Time in which a trainer had room and no batch was ready."},
      {"full", MetricType::kCounter, Unit::kNanoseconds, &Figures::full_ns,
       "Time in which no slot was free to be filled."},
      {"ready_sum", MetricType::kCounter, Unit::kCount, &Figures::ready_sum,
       "Batches that lay ready when the next batch came, added up."},
      {"slots", MetricType::kLevel, Unit::kCount, &Figures::slots, "Slots of the ring."},
      {"slot_bytes", MetricType::kLevel, Unit::kBytes, &Figures::slot_bytes, "Memory of one slot."},
      {"depth", MetricType::kLevel, Unit::kCount, &Figures::depth,
       "Batches that are filled ahead of the trainer, at most."},
      {"depth_max", MetricType::kLevel, Unit::kCount, &Figures::depth_max,
       "The greatest depth that the pipeline allows."},
      {"batch_size", MetricType::kLevel, Unit::kCount, &Figures::batch_size, "Samples of a batch."},
      {"free", MetricType::kLevel, Unit::kCount, &Figures::free, "Slots that are free."},
      {"filling", MetricType::kLevel, Unit::kCount, &Figures::filling, "Slots that are being filled."},
      {"ready", MetricType::kLevel, Unit::kCount, &Figures::ready, "Slots that wait for the trainer."},
      {"held", MetricType::kLevel, Unit::kCount, &Figures::held, "Slots that the trainer holds."},
  }};
  static constexpr std::array<Times<Figures>, 2> kTimes = {{
      {"fill", "fill_", &Figures::fill_ns, "Time from the start of a batch to its last sample."},
      {"held", "held_", &Figures::held_ns, "Time for which the trainer held a batch."},
  }};
};

template <>
struct Schema<PipelineFigures> {
  using Figures = PipelineFigures;
  static constexpr std::string_view kName = "pipeline";
  static constexpr std::array<Number<Figures>, 20> kNumbers = {{
      {"uid", MetricType::kLevel, Unit::kCount, &Figures::uid, "The user who opened the pipeline."},
      {"batches", MetricType::kCounter, Unit::kCount, &Figures::batches, "Batches that were handed to rings."},
      {"samples", MetricType::kCounter, Unit::kCount, &Figures::samples, "Samples that were handed to rings."},
      {"substituted", MetricType::kCounter, Unit::kCount, &Figures::substituted, "Samples that others replaced."},
      {"masked", MetricType::kCounter, Unit::kCount, &Figures::masked, "Samples that were masked."},
      {"damaged", MetricType::kCounter, Unit::kCount, &Figures::damaged, "Samples that were found damaged."},
      {"unsupported", MetricType::kCounter, Unit::kCount, &Figures::unsupported,
       "Samples in a format that is not decoded."},
      {"too_long", MetricType::kCounter, Unit::kCount, &Figures::too_long, "Samples that were left out as too long."},
      {"dropped", MetricType::kCounter, Unit::kCount, &Figures::dropped, "Samples that user code dropped."},
      {"absent", MetricType::kCounter, Unit::kCount, &Figures::absent,
       "Samples that were left out and that nothing replaced."},
      {"cpu", MetricType::kCounter, Unit::kNanoseconds, &Figures::cpu_ns, "CPU time of the decode threads."},
      {"in_flight_bytes", MetricType::kLevel, Unit::kBytes, &Figures::in_flight_bytes,
       "Bytes that are read and not decoded."},
      {"in_flight_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::in_flight_bytes_max,
       "The limit of these bytes."},
      {"in_flight_waits", MetricType::kCounter, Unit::kCount, &Figures::in_flight_waits,
       "Reads that waited for that room."},
      {"lent_bytes", MetricType::kLevel, Unit::kBytes, &Figures::lent_bytes, "Memory lent to samples for decoding."},
      {"lent_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::lent_bytes_max, "The limit of this memory."},
      {"lent_waits", MetricType::kCounter, Unit::kCount, &Figures::lent_waits, "Samples that waited for this memory."},
      {"memory_waits", MetricType::kCounter, Unit::kCount, &Figures::memory_waits, "Samples that waited for memory."},
      {"waiting_for_memory", MetricType::kLevel, Unit::kCount, &Figures::waiting_for_memory,
       "Samples that wait for memory now."},
      {"waiting_out_faults", MetricType::kLevel, Unit::kCount, &Figures::waiting_out_faults,
       "Samples whose source is asked again now."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<StoreFigures> {
  using Figures = StoreFigures;
  static constexpr std::string_view kName = "store";
  static constexpr std::array<Number<Figures>, 10> kNumbers = {{
      {"requests", MetricType::kCounter, Unit::kCount, &Figures::requests, "Requests that ended, well or not."},
      {"failures", MetricType::kCounter, Unit::kCount, &Figures::failures, "Requests that ended with an error."},
      {"attempts", MetricType::kCounter, Unit::kCount, &Figures::attempts, "Attempts of requests."},
      {"retries", MetricType::kCounter, Unit::kCount, &Figures::retries, "Attempts that were made again."},
      {"hedges", MetricType::kCounter, Unit::kCount, &Figures::hedges, "Second attempts beside a slow one."},
      {"bytes", MetricType::kCounter, Unit::kBytes, &Figures::bytes, "Bytes of bodies."},
      {"connections", MetricType::kCounter, Unit::kCount, &Figures::connections, "Connections that were opened."},
      {"under_way", MetricType::kLevel, Unit::kCount, &Figures::under_way, "Attempts that are under way."},
      {"connections_max", MetricType::kLevel, Unit::kCount, &Figures::connections_max, "Attempts at once, at most."},
      {"failing", MetricType::kLevel, Unit::kNanoseconds, &Figures::failing_ns,
       "Time since which no attempt has ended well."},
  }};
  static constexpr std::array<Times<Figures>, 1> kTimes = {{
      {"duration", "", &Figures::duration_ns, "Time of a request that ended well."},
  }};
};

template <>
struct Schema<GpuFigures> {
  using Figures = GpuFigures;
  static constexpr std::string_view kName = "gpu";
  static constexpr std::array<Number<Figures>, 8> kNumbers = {{
      {"slots", MetricType::kLevel, Unit::kCount, &Figures::slots, "Slots on the GPU."},
      {"slot_bytes", MetricType::kLevel, Unit::kBytes, &Figures::slot_bytes, "Memory of the slots on the GPU."},
      {"staging_bytes", MetricType::kLevel, Unit::kBytes, &Figures::staging_bytes, "Pinned host memory for copies."},
      {"staging_used_bytes", MetricType::kLevel, Unit::kBytes, &Figures::staging_used_bytes,
       "Pinned host memory in use."},
      {"copies", MetricType::kCounter, Unit::kCount, &Figures::copies, "Copies of batches to the GPU."},
      {"copied_bytes", MetricType::kCounter, Unit::kBytes, &Figures::copied_bytes,
       "Bytes that were copied to the GPU."},
      {"copy_busy", MetricType::kCounter, Unit::kNanoseconds, &Figures::copy_busy_ns,
       "Time in which copies were under way."},
      {"resets", MetricType::kCounter, Unit::kCount, &Figures::resets,
       "How often the GPU was opened anew after a fault."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<RoleFigures> {
  using Figures = RoleFigures;
  static constexpr std::string_view kName = "role";
  static constexpr std::array<Number<Figures>, 3> kNumbers = {{
      {"threads", MetricType::kLevel, Unit::kCount, &Figures::threads, "The daemon's threads of this role."},
      {"cpu", MetricType::kCounter, Unit::kNanoseconds, &Figures::cpu_ns, "CPU time of the threads of this role."},
      {"core_wait", MetricType::kCounter, Unit::kNanoseconds, &Figures::core_wait_ns,
       "Time in which the threads could have run and other threads had the cores."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

template <>
struct Schema<NodeFigures> {
  using Figures = NodeFigures;
  static constexpr std::string_view kName = "node";
  static constexpr std::array<Number<Figures>, 27> kNumbers = {{
      {"uptime", MetricType::kLevel, Unit::kNanoseconds, &Figures::uptime_ns, "Time since the daemon started."},
      {"cpu", MetricType::kCounter, Unit::kNanoseconds, &Figures::cpu_ns, "CPU time of the daemon."},
      {"decode_busy", MetricType::kCounter, Unit::kNanoseconds, &Figures::decode_busy_ns,
       "CPU time of all decode threads."},
      {"decode_threads", MetricType::kLevel, Unit::kCount, &Figures::decode_threads, "Decode threads that there are."},
      {"decode_lanes", MetricType::kLevel, Unit::kCount, &Figures::decode_lanes, "Decode threads that may work now."},
      {"decode_waiting", MetricType::kLevel, Unit::kCount, &Figures::decode_waiting,
       "Tasks that wait for a decode thread."},
      {"throttled", MetricType::kCounter, Unit::kNanoseconds, &Figures::throttled_ns,
       "Time that the CPU quota held it back."},
      {"pss_bytes", MetricType::kLevel, Unit::kBytes, &Figures::pss_bytes, "Proportional memory of the daemon."},
      {"descriptors", MetricType::kLevel, Unit::kCount, &Figures::descriptors, "Open file descriptors."},
      {"descriptors_max", MetricType::kLevel, Unit::kCount, &Figures::descriptors_max,
       "The limit of open file descriptors."},
      {"slot_bytes", MetricType::kLevel, Unit::kBytes, &Figures::slot_bytes, "Host memory of all rings."},
      {"spare_slot_bytes", MetricType::kLevel, Unit::kBytes, &Figures::spare_slot_bytes,
       "Memory kept for later rings."},
      {"in_flight_bytes", MetricType::kLevel, Unit::kBytes, &Figures::in_flight_bytes,
       "Bytes that are read and not decoded."},
      {"in_flight_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::in_flight_bytes_max,
       "The limit of these bytes."},
      {"in_flight_waits", MetricType::kCounter, Unit::kCount, &Figures::in_flight_waits,
       "Reads that waited for that room."},
      {"lent_bytes", MetricType::kLevel, Unit::kBytes, &Figures::lent_bytes, "Memory lent to samples for decoding."},
      {"lent_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::lent_bytes_max, "The limit of this memory."},
      {"lent_waits", MetricType::kCounter, Unit::kCount, &Figures::lent_waits, "Samples that waited for this memory."},
      {"memory_shortages", MetricType::kCounter, Unit::kCount, &Figures::memory_shortages,
       "Allocations that have failed."},
      {"cache_bytes", MetricType::kLevel, Unit::kBytes, &Figures::cache_bytes, "Memory of the cache."},
      {"cache_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::cache_bytes_max,
       "The limit of the cache's memory."},
      {"cache_disk_bytes", MetricType::kLevel, Unit::kBytes, &Figures::cache_disk_bytes, "Disk space of the cache."},
      {"cache_disk_bytes_max", MetricType::kLevel, Unit::kBytes, &Figures::cache_disk_bytes_max,
       "The limit of that space."},
      {"cache_damaged", MetricType::kCounter, Unit::kCount, &Figures::cache_damaged,
       "Kept samples with a wrong checksum."},
      {"cache_evicted", MetricType::kCounter, Unit::kCount, &Figures::cache_evicted,
       "Unused data sets that made room for others."},
      {"cache_disk_failing", MetricType::kLevel, Unit::kCount, &Figures::cache_disk_failing,
       "1 while the cache's folder is not used, since something is wrong with it."},
      {"sessions", MetricType::kLevel, Unit::kCount, &Figures::sessions, "Clients that are connected."},
  }};
  static constexpr std::array<Times<Figures>, 0> kTimes = {};
};

// The change between two moments: counters and distributions are differences, and levels are as in `now`. A part
// that was not there before began at nothing.
NodeFigures since(const NodeFigures& now, const NodeFigures& before);

}  // namespace spdld::metrics
