#include "tests/memory/gpus_fixture.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <thread>

#include "proto/cuda/objects.h"

namespace spdld::test {
namespace {

constexpr std::chrono::seconds kPatience{30};  // only a hang needs it

template <class Value>
Value get(std::future<Value>& future, const char* what) {
  if (future.wait_for(kPatience) != std::future_status::ready) throw std::runtime_error(std::string(what) + " hangs");
  return future.get();
}

// To the reader: one slot, as it crosses to a trainer.
struct Look {
  memory::MemoryKind kind = memory::MemoryKind::kHost;
  uint8_t seed = 0;
  bool is_last = false;
  uint64_t bytes = 0, slot_bytes = 0, offset = 0;
  std::array<uint8_t, 64> handle = {};
};

std::unique_ptr<cuda::DeviceMemory> open(const cuda::ContextRef& context, const Look& look, int fd) {
  if (look.kind == memory::MemoryKind::kCudaVmm) return std::make_unique<cuda::FdMemory>(context, fd, look.bytes);
  cuda::HandleMemory::Shared shared;
  std::copy(look.handle.begin(), look.handle.end(), shared.handle.reserved.begin());
  shared.offset = look.offset;
  return std::make_unique<cuda::OpenedHandle>(context, shared, look.bytes);
}

bool agrees(const cuda::DeviceMemory& memory, const Look& look) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(memory.address());
  const uint64_t end = look.seed == 0 ? look.bytes : look.slot_bytes;  // a new slot is zero all over
  for (uint64_t at = 0; at < end; ++at)
    if (bytes[at] != (look.seed == 0 ? 0 : pattern(look.seed, at))) return false;
  return true;
}

}  // namespace

void Signal::raise() {
  const std::lock_guard lock(mutex_);
  count_++;
  changed_.notify_all();
}

void Signal::wait(uint64_t times) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return count_ >= times; }))
    throw std::runtime_error("a signal came " + std::to_string(count_) + " times, not " + std::to_string(times));
}

uint64_t Signal::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

memory::GpuUuid uuid_of(size_t device) {
  const cuda::abi::Uuid& uuid = cuda::Driver::get().devices().at(device).uuid;
  memory::GpuUuid same = {};
  std::copy(uuid.bytes.begin(), uuid.bytes.end(), same.begin());
  return same;
}

memory::DeviceRing ring_of(size_t slots, uint64_t slot_bytes, memory::Transport transport) {
  memory::DeviceRing ring;
  ring.gpu = uuid_of(0);
  ring.client_shares_fds = true;
  ring.transport = transport;
  ring.slots = slots;
  ring.slot_bytes = slot_bytes;
  return ring;
}

Result<memory::SlotMemories> try_ring(memory::Gpus& gpus, const memory::DeviceRing& ring) {
  const auto promise = std::make_shared<std::promise<Result<memory::SlotMemories>>>();
  auto future = promise->get_future();
  gpus.make_slots(ring, [promise](Result<memory::SlotMemories> made) { promise->set_value(std::move(made)); });
  return get(future, "the making of a ring");
}

memory::SlotMemories make_ring(memory::Gpus& gpus, const memory::DeviceRing& ring) {
  Result<memory::SlotMemories> made = try_ring(gpus, ring);
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

Error error_of_ring(memory::Gpus& gpus, const memory::DeviceRing& ring) {
  const Result<memory::SlotMemories> made = try_ring(gpus, ring);
  return made ? Error{Trouble::kInternal, ""} : made.error();
}

Status begin(memory::SlotMemory& slot) {
  for (;;) {
    const auto room = std::make_shared<Signal>();
    const Result<bool> begun = slot.begin_fill([room] { room->raise(); });
    if (!begun) return begun.error();
    if (*begun) return Done{};
    room->wait(1);
  }
}

uint8_t pattern(uint8_t seed, uint64_t at) { return static_cast<uint8_t>(seed + at * 7 + (at >> 12) * 13); }

void write_pattern(memory::SlotMemory& slot, uint8_t seed) {
  uint8_t* const bytes = slot.fill_address();
  for (uint64_t at = 0, end = slot.bytes(); at < end; ++at) bytes[at] = pattern(seed, at);
}

Status fill(memory::SlotMemory& slot, uint8_t seed) {
  const Status begun = begin(slot);
  if (!begun) return begun;
  write_pattern(slot, seed);
  const auto promise = std::make_shared<std::promise<Status>>();
  auto future = promise->get_future();
  publish(slot, [promise](const Status& status) { promise->set_value(status); });
  return get(future, "a publish");
}

bool becomes_true(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

bool is_clean(const FakeCudaLive& live) {
  return live.contexts == 0 && live.streams == 0 && live.events == 0 && live.allocations == 0 && live.imports == 0 &&
         live.registrations == 0 && live.device_bytes == 0;
}

bool Reader::sees(const memory::SlotMemory& slot, uint8_t seed) const {
  const memory::Shared shared = slot.shared();
  Look look;
  look.kind = slot.kind();
  look.seed = seed;
  look.bytes = shared.bytes, look.slot_bytes = slot.bytes(), look.offset = shared.offset;
  std::copy(shared.handle.begin(), shared.handle.end(), look.handle.begin());
  const auto bytes = std::span(reinterpret_cast<const uint8_t*>(&look), sizeof look);
  if (slot.kind() == memory::MemoryKind::kCudaVmm) {
    link_.send(bytes, std::array{shared.fd});
  } else {
    link_.send(bytes);
  }
  return link_.receive_value<bool>();
}

void Reader::dismiss() const {
  Look look;
  look.is_last = true;
  link_.send_value(look);
}

void Reader::serve(const Link& link) {
  const cuda::ContextRef context = cuda::Context::retain(cuda::Driver::get().devices().at(0));
  for (;;) {
    const proto::Received received = link.receive();
    Look look;
    if (received.bytes.size() != sizeof look) throw std::runtime_error("a message of another size came");
    std::memcpy(&look, received.bytes.data(), sizeof look);
    if (look.is_last) return;
    auto memory = open(context, look, received.fds.empty() ? -1 : received.fds[0].get());
    const bool is_right = agrees(*memory, look);
    memory.reset();  // its maker may free it after the answer
    link.send_value(is_right);
  }
}

}  // namespace spdld::test
