// Memory that the GPU reaches: registered host memory, and device memory by both transports.
#include <fcntl.h>

#include <algorithm>

#include "proto/cuda/objects.h"

namespace spdld::cuda {
namespace {

constexpr uint64_t kImportBytesMax = uint64_t{1} << 48;  // of addresses: sums with it can't wrap

std::string megabytes(uint64_t bytes) { return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB"; }

std::string place(const Context& context) { return "GPU " + std::to_string(context.device().ordinal); }

// Throws where the context can't be made current.
void require(const Current& current, const Context& context) {
  context.driver().check(current.result(), place(context) + "'s context can't be used");
}

// A slice's refusals have the slice for a cause, where the number tells no other.
Cause transport_cause(abi::Result code, const Context& context) {
  const Cause cause = cause_of(code);
  const bool is_vague = cause == Cause::kFailed || cause == Cause::kUnsupported;
  return is_vague && context.device().is_slice ? Cause::kMig : cause;
}

// Why a handle can't be opened, as far as the driver tells. Its own process gets an invalid context; a namespace in
// which the exporter can't be found, a failed mapping or an invalid value or handle.
Cause import_cause(abi::Result code, const Context& context) {
  const Cause cause = transport_cause(code, context);
  if (cause != Cause::kFailed) return cause;
  if (code == abi::kInvalidContext) return Cause::kSameProcess;
  if (code == abi::kMapFailed || code == abi::kInvalidValue || code == abi::kInvalidHandle)
    return Cause::kOtherNamespace;
  return cause;
}

void check_transport(abi::Result code, const Context& context, const std::string& what) {
  if (code != abi::kSuccess)
    throw Fault(transport_cause(code, context), what + " (" + context.driver().describe(code) + ")", code);
}

abi::MemAllocationProp fd_property(const Context& context) {
  abi::MemAllocationProp property = {};
  property.type = abi::kMemAllocationPinned;
  property.requested_handle_types = abi::kMemHandlePosixFile;
  property.location = {abi::kMemLocationDevice, context.device().handle};
  property.flags.gpu_direct_rdma_capable = context.device().allows_rdma ? 1 : 0;
  return property;
}

uint64_t fd_bytes(const Context& context, uint64_t bytes) {
  const abi::MemAllocationProp property = fd_property(context);
  size_t granularity = 0;
  check_transport(
      context.driver().call().cuMemGetAllocationGranularity(&granularity, &property, abi::kMemGranularityMinimum),
      context, place(context) + " does not tell the granularity of memory that is shared as a file descriptor");
  return round_up(bytes, std::max<uint64_t>(granularity, kDeviceGranularity));  // both are powers of two
}

}  // namespace

RegisteredHost::RegisteredHost(ContextRef context, void* address, uint64_t bytes)
    : context_(std::move(context)), address_(address) {
  const Current current(*context_);
  require(current, *context_);
  context_->driver().check(context_->driver().call().cuMemHostRegister(address_, bytes, abi::kHostRegisterPortable),
                           megabytes(bytes) + " of host memory can't be pinned for " + place(*context_));
}

RegisteredHost::~RegisteredHost() {
  const Current current(*context_);
  if (current.result() == abi::kSuccess) context_->driver().call().cuMemHostUnregister(address_);
}

HandleMemory::HandleMemory(ContextRef context, uint64_t bytes) : DeviceMemory(std::move(context), round_up(bytes)) {
  const Current current(*context_);
  require(current, *context_);
  context_->driver().check(context_->driver().call().cuMemAlloc(&address_, bytes_),
                           place(*context_) + " gives no " + megabytes(bytes_) + " of memory");
}

HandleMemory::~HandleMemory() {
  const Current current(*context_);
  if (current.result() == abi::kSuccess) context_->driver().call().cuMemFree(address_);
}

HandleMemory::Shared HandleMemory::share() const {
  const Current current(*context_);
  require(current, *context_);
  const std::string what = "memory of " + place(*context_) + " can't be shared by a handle";
  const abi::Entries& call = context_->driver().call();
  Shared shared;
  check_transport(call.cuIpcGetMemHandle(&shared.handle, address_), *context_, what);
  abi::DevicePtr base = 0;
  size_t base_bytes = 0;
  check_transport(call.cuMemGetAddressRange(&base, &base_bytes, address_), *context_, what);
  shared.offset = address_ - base;
  return shared;
}

OpenedHandle::OpenedHandle(ContextRef context, const HandleMemory::Shared& shared, uint64_t bytes)
    : DeviceMemory(std::move(context), round_up(bytes)) {
  const Current current(*context_);
  require(current, *context_);
  const std::string what = "memory of another process can't be opened on " + place(*context_) + " by its handle";
  const abi::Entries& call = context_->driver().call();
  const abi::Result opened = call.cuIpcOpenMemHandle(&base_, shared.handle, abi::kIpcLazyEnablePeerAccess);
  if (opened != abi::kSuccess)
    throw Fault(import_cause(opened, *context_), what + " (" + context_->driver().describe(opened) + ")", opened);

  abi::DevicePtr base = 0;
  size_t base_bytes = 0;
  // The driver need not know the size of memory that another process made. The maker's word is then all there is.
  const bool is_known = call.cuMemGetAddressRange(&base, &base_bytes, base_) == abi::kSuccess;
  const uint64_t whole = is_known ? base + base_bytes - base_ : kImportBytesMax;
  const bool fits = bytes_ <= whole && shared.offset <= whole - bytes_;
  if (!fits) call.cuIpcCloseMemHandle(base_);
  if (!fits)
    throw Fault(Cause::kFailed, what + ": it has " + std::to_string(whole) + " bytes, and " + std::to_string(bytes_) +
                                    " from byte " + std::to_string(shared.offset) + " on were promised");
  address_ = base_ + shared.offset;
}

OpenedHandle::~OpenedHandle() { close(); }

bool OpenedHandle::close() {
  if (base_ == 0) return true;
  const Current current(*context_);
  if (current.result() != abi::kSuccess) return false;
  if (context_->driver().call().cuIpcCloseMemHandle(base_) != abi::kSuccess) return false;
  base_ = 0;
  return true;
}

FdMemory::FdMemory(ContextRef context, uint64_t bytes) : DeviceMemory(std::move(context), bytes) {
  const Current current(*context_);
  require(current, *context_);
  bytes_ = fd_bytes(*context_, bytes);
  const abi::Entries& call = context_->driver().call();
  const abi::MemAllocationProp property = fd_property(*context_);
  check_transport(
      call.cuMemCreate(&handle_, bytes_, &property, 0), *context_,
      place(*context_) + " gives no " + megabytes(bytes_) + " of memory that can be shared as a file descriptor");
  map(handle_, true);
}

FdMemory::FdMemory(ContextRef context, int shared, uint64_t bytes) : DeviceMemory(std::move(context), bytes) {
  const Current current(*context_);
  require(current, *context_);
  bytes_ = fd_bytes(*context_, bytes);
  const abi::Entries& call = context_->driver().call();
  abi::MemHandle imported = 0;
  void* const shared_value = reinterpret_cast<void*>(static_cast<intptr_t>(shared));
  check_transport(call.cuMemImportFromShareableHandle(&imported, shared_value, abi::kMemHandlePosixFile), *context_,
                  "memory of another process can't be opened on " + place(*context_) + " by its file descriptor");
  map(imported, false);  // nobody shares it from here, so that the handle has no further use
}

void FdMemory::map(abi::MemHandle handle, bool keeps_handle) {
  const abi::Entries& call = context_->driver().call();
  Context::Range range = {0, bytes_, false, handle};
  abi::Result code = call.cuMemAddressReserve(&range.address, bytes_, 0, 0, 0);
  if (code == abi::kSuccess) {
    code = call.cuMemMap(range.address, bytes_, 0, handle, 0);
    range.is_mapped = code == abi::kSuccess;
  }
  if (code == abi::kSuccess) {
    const abi::MemAccessDesc access = {{abi::kMemLocationDevice, context_->device().handle}, abi::kMemAccessReadWrite};
    code = call.cuMemSetAccess(range.address, bytes_, &access, 1);
  }
  const bool is_done = code == abi::kSuccess;
  if (is_done && !keeps_handle && call.cuMemRelease(handle) == abi::kSuccess) range.handle = 0;
  range_ = context_->keep(range);
  if (!is_done) context_->give_back(range_);
  check_transport(code, *context_, megabytes(bytes_) + " of memory can't be mapped on " + place(*context_));
  address_ = range.address;
}

FdMemory::~FdMemory() { context_->give_back(range_); }

UniqueFd FdMemory::share() const {
  const Current current(*context_);
  require(current, *context_);
  if (handle_ == 0) throw Fault(Cause::kUnsupported, "memory of another process can't be shared on from here");
  int fd = -1;
  check_transport(context_->driver().call().cuMemExportToShareableHandle(&fd, handle_, abi::kMemHandlePosixFile, 0),
                  *context_, "memory of " + place(*context_) + " can't be shared as a file descriptor");
  UniqueFd shared(fd);
  fcntl(shared.get(), F_SETFD, FD_CLOEXEC);  // a program started from here must not keep the memory
  return shared;
}

}  // namespace spdld::cuda
