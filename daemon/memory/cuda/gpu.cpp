#include "daemon/memory/cuda/gpu.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "daemon/memory/cuda/faults.h"
#include "proto/cuda/nvml.h"

namespace spdld::memory {
namespace {

constexpr uint32_t kDrain_ms = 5'000;
constexpr uint64_t kZeros = cuda::kDeviceGranularity;

std::string text_of(const cuda::Device& device) {
  return "GPU " + std::to_string(device.ordinal) + " (" + device.name + ", " + cuda::uuid_text(device) + ")";
}

cuda::ContextRef retain(const cuda::Device& device) {
  try {
    return cuda::Context::retain(device);
  } catch (const cuda::Fault& fault) {
    if (!loses_context(fault.code())) throw;
  }
  // Clears away an earlier failure; no other thread of this process uses the device now.
  cuda::Driver::get().call().cuDevicePrimaryCtxReset(device.handle);
  return cuda::Context::retain(device);
}

uint64_t used_bytes(const std::string& uuid) {
  const cuda::Nvml* const nvml = cuda::Nvml::find();
  return nvml ? nvml->memory_of(uuid).value_or(cuda::Nvml::Memory{}).used_bytes : 0;
}

// The memory that a context takes by itself, just after it was retained. Inside a container NVML may know this process
// by another number, or not at all.
uint64_t measure_context(const std::string& uuid, uint64_t used_before) {
  const cuda::Nvml* const nvml = cuda::Nvml::find();
  if (!nvml) return 0;
  if (const auto own = nvml->used_by(uuid, getpid())) return *own;
  const uint64_t used_after = used_bytes(uuid);
  return used_before > 0 && used_after > used_before ? used_after - used_before : 0;
}

}  // namespace

void Inbox::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  wake_.notify_one();
}

void Inbox::give(std::unique_ptr<DeviceAllocation> allocation) {
  std::unique_lock lock(mutex_);
  if (is_closed_) {
    lock.unlock();
    allocation.reset();
    return;
  }
  returned_.push_back(std::move(allocation));
  is_woken_ = true;
  wake_.notify_one();
}

Inbox::Returned Inbox::wait(std::optional<Clock::time_point> until) {
  std::unique_lock lock(mutex_);
  if (until) {
    wake_.wait_until(lock, *until, [this] { return is_woken_; });
  } else {
    wake_.wait(lock, [this] { return is_woken_; });
  }
  is_woken_ = false;
  return std::exchange(returned_, {});
}

Inbox::Returned Inbox::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  return std::exchange(returned_, {});
}

DeviceRingPart::DeviceRingPart(std::shared_ptr<Gpu> on, MemoryKind as, uint64_t bytes, bool early,
                               const StagingKind& staging_kind)
    : gpu(std::move(on)), kind(as), slot_bytes(bytes), ready_early(early), staging(gpu->staging(), staging_kind) {}

DeviceAllocation::DeviceAllocation(std::shared_ptr<DeviceRingPart> ring) : ring_(std::move(ring)) {
  Gpu& gpu = *ring_->gpu;
  if (ring_->kind == MemoryKind::kCudaVmm) {
    auto memory = std::make_unique<cuda::FdMemory>(gpu.context(), ring_->slot_bytes);
    fd_ = memory->share();
    shared_.fd = fd_.get();
    memory_ = std::move(memory);
  } else {
    auto memory = std::make_unique<cuda::HandleMemory>(gpu.context(), ring_->slot_bytes);
    const cuda::HandleMemory::Shared shown = memory->share();
    shared_.handle.assign(shown.handle.reserved.begin(), shown.handle.reserved.end());
    shared_.offset = shown.offset;
    memory_ = std::move(memory);
  }
  shared_.bytes = memory_->bytes();
  const auto reach = ring_->ready_early ? cuda::Event::Reach::kInterprocess : cuda::Event::Reach::kProcess;
  copied_ = std::make_unique<cuda::Event>(gpu.context(), reach);
  if (ring_->ready_early) {
    const cuda::abi::IpcEventHandle shown = copied_->share();
    shared_.copied.assign(shown.reserved.begin(), shown.reserved.end());
  }
  gpu.zero(memory_->address(), memory_->bytes());
  gpu.slots_++;
  gpu.slot_bytes_ += memory_->bytes();
}

DeviceAllocation::~DeviceAllocation() {
  struct Parts {
    std::unique_ptr<cuda::DeviceMemory> memory;
    std::unique_ptr<cuda::Event> copied;
  };
  Gpu& gpu = *ring_->gpu;
  gpu.slot_bytes_ -= memory_->bytes();
  gpu.slots_--;
  const auto parts = std::make_shared<Parts>(Parts{std::move(memory_), std::move(copied_)});
  gpu.transfer_->keep_if_given_up(parts);
}

std::shared_ptr<Gpu> Gpu::open(const cuda::Device& device, uint64_t staging_bytes_max, std::shared_ptr<Inbox> inbox,
                               int node) {
  auto made = std::make_shared<Gpu>(Key(), device, std::move(inbox));
  try {
    made->start(staging_bytes_max, node);
  } catch (const cuda::Fault& fault) {
    if (loses_context(fault.code())) made->context_->reset();
    throw;
  }
  return made;
}

Gpu::Gpu(Key, const cuda::Device& device, std::shared_ptr<Inbox> inbox)
    : text_(text_of(device)),
      uuid_(cuda::uuid_text(device)),
      inbox_(std::move(inbox)),
      used_before_(used_bytes(uuid_)),
      context_(retain(device)),
      context_bytes_(measure_context(uuid_, used_before_)) {}

void Gpu::start(uint64_t staging_bytes_max, int node) {
  zeros_ = std::make_unique<StagingBuffer>(context_, StagingKind{kZeros, 0}, node);
  set_up_stream_ = std::make_unique<cuda::Stream>(context_);
  staging_ = std::make_shared<Staging>(
      context_, staging_bytes_max, [box = inbox_] { box->wake(); }, node);
  transfer_ =
      Transfer::start(context_, staging_, [self = weak_from_this()](cuda::abi::Result code, const std::string& what) {
        if (const auto gpu = self.lock()) gpu->fail(code, what);
      });
}

void Gpu::check(cuda::abi::Result code, const std::string& what) const {
  context_->driver().check(code, text_ + ": " + what);
}

// By copies, since a memory set by the driver may be a kernel.
void Gpu::zero(cuda::abi::DevicePtr address, uint64_t bytes) {
  const cuda::Current current(*context_);
  check(current.result(), "its context can't be used");
  const cuda::abi::Entries& call = context_->driver().call();
  cuda::abi::Result code = cuda::abi::kSuccess;
  for (uint64_t done = 0; done < bytes && code == cuda::abi::kSuccess; done += kZeros)
    code = call.cuMemcpyHtoDAsync(address + done, zeros_->address(), std::min(kZeros, bytes - done),
                                  set_up_stream_->handle());
  // Also after an error, and more than once: the memory may be freed next.
  cuda::abi::Result synced = cuda::abi::kUnknown;
  for (int tries = 0; tries < 3 && synced != cuda::abi::kSuccess && !loses_context(synced); ++tries)
    synced = call.cuStreamSynchronize(set_up_stream_->handle());
  if (synced != cuda::abi::kSuccess) fail(synced, "the clearing of a slot");
  check(code, "a slot can't be cleared");
  check(synced, "a slot can't be cleared");
}

std::optional<Error> Gpu::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Gpu::fail(cuda::abi::Result code, const std::string& what) {
  const cuda::Fault fault(cuda::Cause::kContextLost,
                          text_ + " failed in " + what + " (" + context_->driver().describe(code) +
                              "): its batches are lost, and spdld opens it afresh for the next ring",
                          code);
  {
    const std::lock_guard lock(mutex_);
    if (trouble_) return;
    trouble_ = error_of(fault);
  }
  transfer_->fail(error_of(fault));
  staging_->close(error_of(fault));
  inbox_->wake();
}

void Gpu::report(GpuReport& report) const {
  report.total_bytes = context_->device().bytes;
  report.free_bytes = free_bytes_;
  report.context_bytes = context_bytes_;
  report.slots = slots_;
  report.slot_bytes = slot_bytes_;
  const Staging::Levels levels = staging_->levels();
  report.staging_bytes = levels.bytes;
  report.staging_used_bytes = levels.used_bytes;
  report.copies = transfer_->copies().value();
  report.copied_bytes = transfer_->copied_bytes().value();
  report.copy_busy_ns = transfer_->busy_ns().value();
}

std::optional<Inbox::Clock::time_point> Gpu::tick() {
  try {
    return staging_->tick();
  } catch (const cuda::Fault& fault) {
    fail(fault.code(), "the registration of host memory");
    return std::nullopt;
  }
}

void Gpu::close(const Error& reason) {
  // A GPU that is just failing has its trouble, and may not have told it yet: the first reason counts.
  const Error why = trouble().value_or(reason);
  staging_->close(why);
  if (!transfer_->end(why, kDrain_ms)) {
    transfer_->keep_if_given_up(shared_from_this());
    return;
  }
  if (trouble()) context_->reset();
  staging_->drop();
}

void Gpu::measure() {
  try {
    free_bytes_ = cuda::memory_levels(*context_).free_bytes;
  } catch (const cuda::Fault& fault) {
    free_bytes_ = 0;
    if (loses_context(fault.code())) fail(fault.code(), "a look at its memory");
  }
}

}  // namespace spdld::memory
