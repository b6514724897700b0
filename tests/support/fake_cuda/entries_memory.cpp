// Memory that is allocated, shown to other processes by handles, and pinned.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "tests/support/fake_cuda/exports.h"
#include "tests/support/fake_cuda/process.h"

using namespace spdld::test::fake;  // NOLINT: exports are global
using abi::Result;

namespace {

constexpr Result kNotRegistered = static_cast<Result>(713);

// Under the process's lock.
void enter_mapping(Process& own, Mapping mapping) {
  own.freed.erase(mapping.base);
  own.mappings.insert_or_assign(mapping.base, std::move(mapping));
}

Result find_own(Process& own, uint64_t address, Mapping::Origin origin, Mapping** mapping) {
  const auto found = own.mappings.find(address);
  if (found != own.mappings.end() && found->second.origin == origin) {
    *mapping = &found->second;
    return abi::kSuccess;
  }
  if (own.freed.count(address)) breach("device memory freed twice");
  return abi::kInvalidValue;
}

Result map_opened(Process& own, const ShareNote& note, const std::shared_ptr<Context>& context,
                  abi::DevicePtr* address) {
  const int opened = open_shared(note);
  if (opened < 0) return opened == -EACCES || opened == -EPERM ? abi::kMapFailed : abi::kInvalidValue;
  spdld::UniqueFd fd(opened);
  uint64_t id = 0, bytes = 0;
  int device = 0;
  if (!identify(opened, &id, &device, &bytes) || id != note.id) return abi::kInvalidValue;
  try {
    auto physical = std::make_shared<Physical>(id, device, bytes, Transport::kHandle, std::move(fd));
    const uint64_t base = map_anywhere(*physical);
    if (base == 0) return abi::kMapFailed;
    enter_mapping(own, {Mapping::Origin::kOpened, base, bytes, 0, std::move(physical), context});
    *address = base;
    return abi::kSuccess;
  } catch (const std::system_error&) {
    return abi::kMapFailed;
  }
}

}  // namespace

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (const auto refused = begin(Symbol::cuMemGetInfo)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  const uint64_t all = ledger()->options().device_bytes, used = ledger()->used_bytes(current.context->device);
  *total = all;
  *free = all - std::min(all, used);
  return abi::kSuccess;
}

Result cuMemAlloc_v2(abi::DevicePtr* address, size_t bytes) {
  if (const auto refused = begin(Symbol::cuMemAlloc)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (bytes == 0) return abi::kInvalidValue;
  Process& own = *process();
  const uint64_t id = own.ledger.add_allocation(current.context->device, bytes, Transport::kHandle);
  if (id == 0) return abi::kOutOfMemory;
  try {
    auto physical = std::make_shared<Physical>(id, current.context->device, bytes, Transport::kHandle);
    const uint64_t base = map_anywhere(*physical);
    if (base == 0) throw std::system_error(ENOMEM, std::generic_category());
    const std::lock_guard lock(own.mutex);
    enter_mapping(own, {Mapping::Origin::kAllocated, base, bytes, 0, std::move(physical), current.context});
    *address = base;
    return abi::kSuccess;
  } catch (const std::system_error&) {
    own.ledger.drop(id);
    return abi::kOutOfMemory;
  }
}

Result cuMemFree_v2(abi::DevicePtr address) {
  if (const auto refused = begin(Symbol::cuMemFree)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  Process& own = *process();
  Mapping gone;
  {
    const std::lock_guard lock(own.mutex);
    Mapping* mapping = nullptr;
    if (const Result none = find_own(own, address, Mapping::Origin::kAllocated, &mapping)) return none;
    gone = *mapping;
    own.mappings.erase(address);
    own.freed.insert(address);
    unmap(gone.base, gone.bytes);
  }
  drop_memory(*gone.physical);
  return abi::kSuccess;
}

Result cuMemGetAddressRange_v2(abi::DevicePtr* base, size_t* bytes, abi::DevicePtr address) {
  if (const auto refused = begin(Symbol::cuMemGetAddressRange)) return *refused;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const Mapping* mapping = own.mapping_of(address, 1);
  if (!mapping) return abi::kNotFound;
  if (mapping->origin == Mapping::Origin::kOpened && !ledger()->options().tells_imported_size)
    return abi::kInvalidValue;
  if (base) *base = mapping->base;
  if (bytes) *bytes = mapping->bytes;
  return abi::kSuccess;
}

Result cuIpcGetMemHandle(abi::IpcMemHandle* handle, abi::DevicePtr address) {
  if (const auto refused = begin(Symbol::cuIpcGetMemHandle)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (!ledger()->options().shares_handles()) return abi::kNotSupported;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const Mapping* mapping = own.mapping_of(address, 1);
  if (!mapping || mapping->origin != Mapping::Origin::kAllocated) return abi::kInvalidValue;
  const Physical& physical = *mapping->physical;
  const ShareNote note = {kMemoryMagic, own.key, physical.fd.get(), physical.device, physical.id, physical.bytes};
  *handle = {};
  std::memcpy(handle->reserved.data(), &note, sizeof note);
  return abi::kSuccess;
}

Result cuIpcOpenMemHandle_v2(abi::DevicePtr* address, abi::IpcMemHandle handle, unsigned flags) {
  if (const auto refused = begin(Symbol::cuIpcOpenMemHandle)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (!ledger()->options().shares_handles()) return abi::kNotSupported;
  ShareNote note;
  std::memcpy(&note, handle.reserved.data(), sizeof note);
  if (note.magic != kMemoryMagic || flags != abi::kIpcLazyEnablePeerAccess) return abi::kInvalidValue;
  Process& own = *process();
  if (note.exporter == own.key) return abi::kInvalidContext;
  if (note.device != current.context->device) return abi::kInvalidDevice;
  const std::lock_guard lock(own.mutex);
  for (auto& [base, mapping] : own.mappings) {
    if (mapping.origin != Mapping::Origin::kOpened || mapping.physical->id != note.id) continue;
    ++mapping.opened;
    *address = base;
    return abi::kSuccess;
  }
  // Held first: from then on the exporter's free would be seen.
  const auto held = own.ledger.hold(note.id, note.device, note.bytes, Transport::kHandle);
  if (held == Ledger::Held::kGone && is_alive(note.exporter)) breach("device memory opened after it was freed");
  if (held != Ledger::Held::kYes) return abi::kInvalidValue;
  const Result result = map_opened(own, note, current.context, address);
  if (result != abi::kSuccess) own.ledger.drop(note.id);
  return result;
}

Result cuIpcCloseMemHandle(abi::DevicePtr address) {
  if (const auto refused = begin(Symbol::cuIpcCloseMemHandle)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  Process& own = *process();
  Mapping gone;
  {
    const std::lock_guard lock(own.mutex);
    Mapping* mapping = nullptr;
    if (const Result none = find_own(own, address, Mapping::Origin::kOpened, &mapping)) return none;
    if (--mapping->opened > 0) return abi::kSuccess;
    gone = *mapping;
    own.mappings.erase(address);
    own.freed.insert(address);
    unmap(gone.base, gone.bytes);
  }
  own.ledger.drop(gone.physical->id);
  return abi::kSuccess;
}

Result cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  if (const auto refused = begin(Symbol::cuMemHostRegister)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (!address || bytes == 0) return abi::kInvalidValue;
  Process& own = *process();
  const uint64_t base = number_of(address);
  const std::lock_guard lock(own.mutex);
  for (const auto& [other_base, other] : own.registrations)
    if (base < other_base + other->bytes && other_base < base + bytes) return abi::kHostMemoryAlreadyRegistered;
  auto registration = std::make_shared<Registration>();
  registration->base = base;
  registration->bytes = bytes;
  registration->context = current.context;
  own.registrations.emplace(base, std::move(registration));
  own.unregistered.erase(base);
  own.row.registrations.fetch_add(1);
  return abi::kSuccess;
}

Result cuMemHostUnregister(void* address) {
  if (const auto refused = begin(Symbol::cuMemHostUnregister)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto found = own.registrations.find(number_of(address));
  if (found == own.registrations.end()) {
    if (own.unregistered.count(number_of(address))) breach("host memory unregistered twice");
    return kNotRegistered;
  }
  if (found->second->copies.load() > 0) breach("staging unregistered while its copy was under way");
  own.registrations.erase(found);
  own.unregistered.insert(number_of(address));
  own.row.registrations.fetch_sub(1);
  return abi::kSuccess;
}
