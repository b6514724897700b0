// Virtual memory: memory made, shown as a file descriptor, and mapped, each by a call of its own.
#include <fcntl.h>

#include <algorithm>
#include <system_error>

#include "tests/support/fake_cuda/exports.h"
#include "tests/support/fake_cuda/process.h"

using namespace spdld::test::fake;  // NOLINT: exports are global
using abi::Result;

namespace {

bool is_whole(uint64_t bytes) { return bytes > 0 && bytes % kGranularity == 0; }

bool shares_fds() { return ledger()->options().makes_fds(); }

// Memory is no context's, but where the device's is poisoned nothing can be done with it. Under the lock.
Result health_on(const Process& own, int device) {
  for (const auto& primary : own.primaries)
    if (primary.context && primary.context->device == device) return health_of(*primary.context);
  return abi::kSuccess;
}

Result check_device(int ordinal) {
  Process& own = *process();
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= own.visible.size()) return abi::kInvalidDevice;
  const std::lock_guard lock(own.mutex);
  return health_on(own, own.visible[static_cast<size_t>(ordinal)]);
}

Result check_prop(const abi::MemAllocationProp* prop) {
  if (!prop || prop->type != abi::kMemAllocationPinned || prop->location.type != abi::kMemLocationDevice)
    return abi::kInvalidValue;
  if (prop->requested_handle_types != 0 && prop->requested_handle_types != abi::kMemHandlePosixFile)
    return abi::kInvalidValue;
  if (prop->requested_handle_types != 0 && !shares_fds()) return abi::kNotSupported;
  if (prop->flags.gpu_direct_rdma_capable != 0 && !ledger()->options().rdma) return abi::kNotSupported;
  return check_device(prop->location.id);
}

int ordinal_of(const Process& own, int device) {
  const auto found = std::find(own.visible.begin(), own.visible.end(), device);
  return found == own.visible.end() ? -1 : static_cast<int>(found - own.visible.begin());
}

// Under the lock.
bool is_free(const Process& own, uint64_t address, uint64_t bytes) {
  return std::none_of(own.mappings.begin(), own.mappings.end(), [&](const auto& one) {
    return address < one.first + one.second.bytes && one.first < address + bytes;
  });
}

bool is_reserved(const Process& own, uint64_t address, uint64_t bytes) {
  return std::any_of(own.reservations.begin(), own.reservations.end(), [&](const auto& one) {
    return address >= one.first && address + bytes <= one.first + one.second.bytes;
  });
}

}  // namespace

Result cuMemGetAllocationGranularity(size_t* bytes, const abi::MemAllocationProp* prop, int option) {
  if (const auto refused = begin(Symbol::cuMemGetAllocationGranularity)) return *refused;
  if (!bytes || option < 0 || option > 1) return abi::kInvalidValue;
  if (const Result wrong = check_prop(prop)) return wrong;
  *bytes = kGranularity;
  return abi::kSuccess;
}

Result cuMemCreate(abi::MemHandle* handle, size_t bytes, const abi::MemAllocationProp* prop, unsigned long long flags) {
  if (const auto refused = begin(Symbol::cuMemCreate)) return *refused;
  if (!handle || !is_whole(bytes) || flags != 0) return abi::kInvalidValue;
  if (const Result wrong = check_prop(prop)) return wrong;
  Process& own = *process();
  const int device = own.visible[static_cast<size_t>(prop->location.id)];
  const uint64_t id = own.ledger.add_allocation(device, bytes, Transport::kFd);
  if (id == 0) return abi::kOutOfMemory;
  if (prop->flags.gpu_direct_rdma_capable != 0) own.ledger.count_rdma();
  try {
    auto physical = std::make_shared<Physical>(id, device, bytes, Transport::kFd);
    const std::lock_guard lock(own.mutex);
    *handle = own.memories.add(std::move(physical));
    return abi::kSuccess;
  } catch (const std::system_error&) {
    own.ledger.drop(id);
    return abi::kOutOfMemory;
  }
}

Result cuMemRelease(abi::MemHandle handle) {
  if (const auto refused = begin(Symbol::cuMemRelease)) return *refused;
  Process& own = *process();
  std::shared_ptr<Physical> gone;
  {
    const std::lock_guard lock(own.mutex);
    gone = own.memories.find(handle);
    if (!gone && own.memories.was_given(handle)) breach("a memory handle released twice");
    if (!gone) return abi::kInvalidValue;
    if (const Result health = health_on(own, gone->device)) return health;
    own.memories.take(handle);
  }
  drop_memory(*gone);
  return abi::kSuccess;
}

Result cuMemExportToShareableHandle(void* shared, abi::MemHandle handle, int type, unsigned long long flags) {
  if (const auto refused = begin(Symbol::cuMemExportToShareableHandle)) return *refused;
  if (!shares_fds()) return abi::kNotSupported;
  if (!shared || type != abi::kMemHandlePosixFile || flags != 0) return abi::kInvalidValue;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto physical = own.memories.find(handle);
  if (!physical) {
    if (own.memories.was_given(handle)) breach("a memory handle used after it was released");
    return abi::kInvalidValue;
  }
  if (const Result health = health_on(own, physical->device)) return health;
  const int fd = ::fcntl(physical->fd.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return abi::kOperatingSystem;
  *static_cast<int*>(shared) = fd;
  return abi::kSuccess;
}

Result cuMemImportFromShareableHandle(abi::MemHandle* handle, void* shared, int type) {
  if (const auto refused = begin(Symbol::cuMemImportFromShareableHandle)) return *refused;
  if (!shares_fds()) return abi::kNotSupported;
  if (!handle || type != abi::kMemHandlePosixFile) return abi::kInvalidValue;
  const int given = static_cast<int>(reinterpret_cast<uintptr_t>(shared));  // the number, not where it lies
  uint64_t id = 0, bytes = 0;
  int device = 0;
  if (!identify(given, &id, &device, &bytes)) return abi::kInvalidValue;
  Process& own = *process();
  const int ordinal = ordinal_of(own, device);
  if (ordinal < 0) return abi::kInvalidDevice;
  if (const Result wrong = check_device(ordinal)) return wrong;
  spdld::UniqueFd fd(::fcntl(given, F_DUPFD_CLOEXEC, 0));
  if (!fd) return abi::kOperatingSystem;
  if (own.ledger.hold(id, device, bytes, Transport::kFd) != Ledger::Held::kYes) return abi::kOutOfMemory;
  try {
    auto physical = std::make_shared<Physical>(id, device, bytes, Transport::kFd, std::move(fd));
    const std::lock_guard lock(own.mutex);
    *handle = own.memories.add(std::move(physical));
    return abi::kSuccess;
  } catch (const std::system_error&) {
    own.ledger.drop(id);
    return abi::kOperatingSystem;
  }
}

Result cuMemAddressReserve(abi::DevicePtr* address, size_t bytes, size_t alignment, abi::DevicePtr,
                           unsigned long long flags) {
  if (const auto refused = begin(Symbol::cuMemAddressReserve)) return *refused;
  if (!address || !is_whole(bytes) || alignment % kGranularity != 0 || flags != 0) return abi::kInvalidValue;
  const uint64_t base = reserve_addresses(bytes, std::max<uint64_t>(alignment, kGranularity));
  if (base == 0) return abi::kOutOfMemory;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  own.reservations.insert_or_assign(base, Reservation{base, bytes});
  own.freed.erase(base);
  *address = base;
  return abi::kSuccess;
}

Result cuMemAddressFree(abi::DevicePtr address, size_t bytes) {
  if (const auto refused = begin(Symbol::cuMemAddressFree)) return *refused;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto found = own.reservations.find(address);
  if (found == own.reservations.end()) {
    if (own.freed.count(address)) breach("an address range freed twice");
    return abi::kInvalidValue;
  }
  if (found->second.bytes != bytes) return abi::kInvalidValue;
  if (!is_free(own, address, bytes)) {
    breach("an address range freed while memory is mapped in it");
    return abi::kInvalidValue;
  }
  own.reservations.erase(found);
  own.freed.insert(address);
  unmap(address, bytes);
  return abi::kSuccess;
}

Result cuMemMap(abi::DevicePtr address, size_t bytes, size_t offset, abi::MemHandle handle, unsigned long long flags) {
  if (const auto refused = begin(Symbol::cuMemMap)) return *refused;
  if (!is_whole(bytes) || address % kGranularity != 0 || offset % kGranularity != 0 || flags != 0)
    return abi::kInvalidValue;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto physical = own.memories.find(handle);
  if (!physical) {
    if (own.memories.was_given(handle)) breach("a memory handle used after it was released");
    return abi::kInvalidValue;
  }
  if (offset > physical->bytes || bytes > physical->bytes - offset || !is_reserved(own, address, bytes) ||
      !is_free(own, address, bytes))
    return abi::kInvalidValue;
  if (const Result health = health_on(own, physical->device)) return health;
  if (own.ledger.hold(physical->id, physical->device, physical->bytes, Transport::kFd) != Ledger::Held::kYes)
    return abi::kOutOfMemory;
  if (!map_at(address, bytes, *physical, offset)) {
    own.ledger.drop(physical->id);
    return abi::kMapFailed;
  }
  Mapping mapping{Mapping::Origin::kVirtual, address, bytes, offset, physical, nullptr};
  mapping.usable = false;
  own.mappings.insert_or_assign(address, std::move(mapping));
  return abi::kSuccess;
}

Result cuMemUnmap(abi::DevicePtr address, size_t bytes) {
  if (const auto refused = begin(Symbol::cuMemUnmap)) return *refused;
  Process& own = *process();
  Mapping gone;
  {
    const std::lock_guard lock(own.mutex);
    const auto found = own.mappings.find(address);
    if (found == own.mappings.end() || found->second.origin != Mapping::Origin::kVirtual ||
        found->second.bytes != bytes)
      return abi::kInvalidValue;
    if (const Result health = health_on(own, found->second.physical->device)) return health;
    gone = found->second;
    own.mappings.erase(found);
    if (!vacate(address, bytes)) return abi::kUnknown;
  }
  drop_memory(*gone.physical);
  return abi::kSuccess;
}

Result cuMemSetAccess(abi::DevicePtr address, size_t bytes, const abi::MemAccessDesc* access, size_t count) {
  if (const auto refused = begin(Symbol::cuMemSetAccess)) return *refused;
  if (!access || count != 1 || access->location.type != abi::kMemLocationDevice ||
      access->flags != abi::kMemAccessReadWrite)
    return abi::kInvalidValue;
  if (const Result wrong = check_device(access->location.id)) return wrong;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto found = own.mappings.find(address);
  if (found == own.mappings.end() || found->second.origin != Mapping::Origin::kVirtual || found->second.bytes != bytes)
    return abi::kInvalidValue;
  if (found->second.physical->device != own.visible[static_cast<size_t>(access->location.id)])
    return abi::kPeerAccessUnsupported;
  if (!unlock_at(address, bytes)) return abi::kUnknown;
  found->second.usable = true;
  return abi::kSuccess;
}
