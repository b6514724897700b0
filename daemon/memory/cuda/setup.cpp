#include "daemon/memory/cuda/setup.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/memory/cuda/device_slot.h"
#include "daemon/memory/cuda/faults.h"
#include "daemon/memory/cuda/numa.h"

namespace spdld::memory {
namespace {

using cuda::Cause;
using cuda::Fault;

constexpr size_t kJobsMax = 64;  // rings that wait to be made

Error stopping() { return {Trouble::kStopping, "spdld is stopping"}; }

std::string mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

cuda::abi::Uuid driver_uuid(const GpuUuid& uuid) {
  cuda::abi::Uuid same = {};
  std::memcpy(same.bytes.data(), uuid.data(), same.bytes.size());
  return same;
}

MemoryKind choose_kind(const DeviceRing& ring, const Gpu& gpu, const cuda::Device& device) {
  if (ring.transport == Transport::kHandle) return MemoryKind::kCudaIpc;
  if (device.shares_fds && ring.client_shares_fds) return MemoryKind::kCudaVmm;
  if (ring.transport == Transport::kAuto) return MemoryKind::kCudaIpc;
  const std::string side = device.shares_fds ? "the trainer's side" : "the daemon's side (" + gpu.text() + ")";
  throw Fault(Cause::kUnsupported,
              "the fd transport was asked for, and " + side +
                  " can't share GPU memory as file descriptors; use the handle transport, or auto");
}

// Whether a GPU that has failed before may be lost for this process alone.
bool needs_new_process(const Fault& fault) {
  switch (fault.cause()) {
    case Cause::kContextLost:
    case Cause::kFailed:
    case Cause::kNoDriver:
    case Cause::kNoGpu:
    case Cause::kForked:  // "not initialised": no process is forked from this one
      return true;
    default:
      return false;
  }
}

}  // namespace

Gpus::Setup::Setup(const Settings& settings) : settings_(settings) {
  no_driver_ = settings_.enabled ? "the driver is still being looked for" : "GPUs are turned off (gpu.enabled = false)";
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "spdld-gpus");
}

Gpus::Setup::~Setup() { stop(); }

void Gpus::Setup::make_slots(const DeviceRing& ring, Done done) {
  std::optional<Error> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || is_stopping_) {
      refusal = stopping();
    } else if (jobs_.size() >= kJobsMax) {
      refusal = Error{Trouble::kLimit, std::to_string(kJobsMax) + " rings wait already to be made on GPUs: try again"};
    } else {
      jobs_.push_back({ring, std::move(done)});
    }
  }
  if (refusal) {
    done(std::move(*refusal));
  } else {
    inbox_->wake();
  }
}

void Gpus::Setup::stop() {
  std::call_once(stopped_, [this] {
    is_stopping_ = true;
    inbox_->wake();
    thread_.join();
  });
}

GpusReport Gpus::Setup::report() {
  GpusReport report;
  {
    const std::lock_guard lock(mutex_);
    report.driver = driver_;
    report.reason = no_driver_;
    for (const Card& card : cards_) {
      GpuReport& one = report.gpus.emplace_back();
      one.uuid = cuda::uuid_text(card.device);
      one.name = card.device.name;
      one.total_bytes = card.device.bytes;
      one.reason = card.reason;
      one.resets = card.resets;
      one.state = card.is_open ? "open" : card.has_failed ? "failed" : "closed";
      if (!card.gpu) continue;
      const std::optional<Error> trouble = card.gpu->trouble();
      if (trouble) {
        one.state = "failed";
        one.reason = trouble->message;
      }
      card.gpu->report(one);
    }
  }
  // The free memory is as of the last report: asking the driver may take long.
  if (!is_measure_wanted_.exchange(true)) inbox_->wake();
  return report;
}

void Gpus::Setup::run() {
  look();
  std::optional<Inbox::Clock::time_point> until = Inbox::Clock::now();
  while (!is_stopping_) {
    Inbox::Returned returned = inbox_->wait(until);
    tend();  // first: what lies on a lost context is not given back piece by piece
    returned.clear();
    if (const std::optional<Job> job = next_job()) {
      Result<SlotMemories> made = make(job->ring);
      job->done(std::move(made));
      inbox_->wake();  // there may be more
    }
    until = tend();
  }
  wind_down();
}

void Gpus::Setup::look() {
  if (!settings_.enabled) return;
  std::string why;
  const cuda::Driver* const driver = cuda::Driver::find(&why);
  const std::lock_guard lock(mutex_);
  no_driver_ = why;
  if (!driver) return;
  driver_ = version_text(driver->version());
  for (const cuda::Device& device : driver->devices()) cards_.emplace_back().device = device;
}

std::optional<Gpus::Setup::Job> Gpus::Setup::next_job() {
  const std::lock_guard lock(mutex_);
  if (jobs_.empty()) return std::nullopt;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

Result<SlotMemories> Gpus::Setup::make(const DeviceRing& ring) {
  try {
    if (!settings_.enabled)
      throw Fault(Cause::kUnsupported,
                  "the daemon's settings keep GPUs out (gpu.enabled = false): turn them on, or use "
                  "host memory (device = \"cpu\")");
    if (cards_.empty()) look();  // it may have been too early before: the driver is tried again at a bounded rate
    cuda::Driver::get();
    Card& card = card_of(ring.gpu);
    SlotMemories slots = make_on(card, ring);
    if (is_stopping_) return stopping();
    if (const auto trouble = card.gpu->trouble()) return *trouble;
    return slots;
  } catch (const Fault& fault) {
    return error_of(fault);
  } catch (const SetupError& error) {
    return error.error();
  } catch (const std::bad_alloc&) {
    return Error{Trouble::kLimit, "there is not enough host memory for a ring on a GPU"};
  } catch (const std::exception& error) {
    return Error{Trouble::kInternal, std::string("a ring can't be made on a GPU: ") + error.what()};
  }
}

Gpus::Setup::Card& Gpus::Setup::card_of(const GpuUuid& uuid) {
  const cuda::abi::Uuid wanted = driver_uuid(uuid);
  std::string seen;
  for (Card& card : cards_) {
    if (card.device.uuid.bytes == wanted.bytes) return card;
    seen += (seen.empty() ? "" : ", ") + cuda::uuid_text(card.device);
  }
  throw Fault(Cause::kGpuNotVisible,
              "the trainer's GPU " + cuda::to_text(wanted) + " is not among the GPUs that spdld sees (" + seen + ")");
}

SlotMemories Gpus::Setup::make_on(Card& card, const DeviceRing& ring) {
  // As checked, this can't overflow.
  if (ring.slot_bytes > settings_.staging_bytes_max || cuda::round_up(ring.slot_bytes) > settings_.staging_bytes_max)
    throw SetupError(Trouble::kLimit, "a slot of " + mebibytes(ring.slot_bytes) +
                                          " is larger than all memory for copies (" +
                                          mebibytes(settings_.staging_bytes_max) +
                                          ", gpu.staging_bytes_max): lower batch.size, or raise that");
  const std::shared_ptr<Gpu> gpu = open(card);
  const MemoryKind kind = choose_kind(ring, *gpu, card.device);
  refuse_too_much(card, ring, cuda::round_up(ring.slot_bytes));
  try {
    return make_slots_of(kind, ring, card, gpu);
  } catch (const Fault& fault) {
    // Which transport a slice (MIG) takes depends on the GPU and the driver: the only way to know is to try.
    const bool is_refused = fault.cause() == Cause::kMig;
    if (is_refused && kind == MemoryKind::kCudaVmm && ring.transport == Transport::kAuto)
      return make_slots_of(MemoryKind::kCudaIpc, ring, card, gpu);
    throw;
  }
}

SlotMemories Gpus::Setup::make_slots_of(MemoryKind kind, const DeviceRing& ring, Card& card,
                                        const std::shared_ptr<Gpu>& gpu) {
  std::vector<std::unique_ptr<DeviceAllocation>> made;
  try {
    const StagingKind staging = {cuda::round_up(ring.slot_bytes), ring.owner};
    gpu->staging()->ensure(staging);
    // An event crosses by a handle, which needs the namespaces that descriptors do without.
    const bool early = ring.ready_early && kind == MemoryKind::kCudaIpc;
    const auto part = std::make_shared<DeviceRingPart>(gpu, kind, ring.slot_bytes, early, staging);
    SlotMemories slots;
    while (made.size() < ring.slots && !is_stopping_) made.push_back(std::make_unique<DeviceAllocation>(part));
    for (auto& allocation : made) slots.push_back(std::make_unique<DeviceSlot>(std::move(allocation)));
    gpu->measure();
    return slots;
  } catch (const Fault& fault) {
    if (loses_context(fault.code())) gpu->fail(fault.code(), "the making of a ring");
    if (fault.cause() == Cause::kMig) {
      const std::lock_guard lock(mutex_);
      card.reason = fault.what();
    }
    for (auto& allocation : made) inbox_->give(std::move(allocation));
    throw;
  }
}

std::shared_ptr<Gpu> Gpus::Setup::open(Card& card) {
  if (card.gpu && !card.gpu->trouble()) return card.gpu;
  if (card.gpu) close(card, stopping());
  const int node = numa_node_of(settings_.sysfs, card.device.pci);
  std::shared_ptr<Gpu> gpu;
  try {
    gpu = Gpu::open(card.device, settings_.staging_bytes_max, inbox_, node);
  } catch (const Fault& fault) {
    if (card.has_failed && needs_new_process(fault)) give_up(card, fault.what());
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (std::exchange(card.has_failed, false)) card.resets++;
  card.empty_since = Inbox::Clock::now();
  card.gpu = gpu;
  card.is_open = true;
  return gpu;
}

// A new process may get what this one can't.
void Gpus::Setup::give_up(const Card& card, const std::string& why) {
  const std::string sentence = "GPU " + std::to_string(card.device.ordinal) + " (" + card.device.name +
                               ") has failed, and this process can't open it afresh (" + why +
                               "): spdld ends, for its supervisor to start it again";
  if (!std::exchange(is_hopeless_, true) && settings_.hopeless) settings_.hopeless(sentence);
  throw SetupError(Trouble::kStopping, sentence);
}

void Gpus::Setup::refuse_too_much(const Card& card, const DeviceRing& ring, uint64_t bytes) const {
  const uint64_t taken = std::min(card.gpu->slot_bytes(), settings_.slot_bytes_max);
  if (ring.slots <= (settings_.slot_bytes_max - taken) / std::max<uint64_t>(bytes, 1)) return;
  throw SetupError(Trouble::kLimit, card.gpu->text() + " has " + mebibytes(taken) + " of at most " +
                                        mebibytes(settings_.slot_bytes_max) + " (gpu.slot_bytes_max) taken by " +
                                        std::to_string(card.gpu->slots()) + " slots, and " +
                                        std::to_string(ring.slots) + " of " + mebibytes(bytes) +
                                        " are asked for: lower batch.size or prefetch_depth, or raise that");
}

// Looks after the GPUs that are open. When to do so again, at the latest.
std::optional<Inbox::Clock::time_point> Gpus::Setup::tend() {
  std::optional<Inbox::Clock::time_point> until;
  const auto again_at = [&](Inbox::Clock::time_point at) { until = until ? std::min(*until, at) : at; };
  const bool is_measure_wanted = is_measure_wanted_.exchange(false);
  const auto now = Inbox::Clock::now();
  for (Card& card : cards_) {
    if (!card.gpu) continue;
    if (const auto next = card.gpu->tick()) again_at(*next);
    if (is_measure_wanted) card.gpu->measure();
    if (card.gpu->trouble()) {
      close(card, stopping());
      continue;
    }
    if (card.gpu->slots() > 0) {
      card.empty_since = now;
      continue;
    }
    const auto close_at = card.empty_since + std::chrono::milliseconds(settings_.idle_ms);
    if (close_at <= now) {
      close(card, stopping());
    } else {
      again_at(close_at);
    }
  }
  return until;
}

// Work that is under way fails with `reason`, unless the GPU itself is in trouble.
void Gpus::Setup::close(Card& card, const Error& reason) {
  card.gpu->close(reason);
  const std::optional<Error> trouble = card.gpu->trouble();
  std::shared_ptr<Gpu> closed;
  {
    const std::lock_guard lock(mutex_);
    closed.swap(card.gpu);
  }
  closed.reset();  // takes the driver a while
  const std::lock_guard lock(mutex_);
  card.is_open = false;
  if (trouble) {
    card.has_failed = true;
    card.reason = trouble->message;
  }
}

void Gpus::Setup::wind_down() {
  std::deque<Job> left;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left.swap(jobs_);
  }
  for (const Job& job : left) job.done(stopping());
  for (Card& card : cards_)
    if (card.gpu) close(card, stopping());
  inbox_->close().clear();
}

}  // namespace spdld::memory
