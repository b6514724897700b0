#include "proto/cuda/objects.h"

namespace spdld::cuda {
namespace {

std::string text_of(const Device& device) {
  return "GPU " + std::to_string(device.ordinal) + " (" + device.name + ", " + to_text(device.uuid) + ")";
}

// Processes share the GPU through MPS: exclusive-process then means MPS's own process.
bool uses_mps(const Driver& driver, const Device& device) {
  int value = 0;
  return driver.call().cuDeviceGetAttribute(&value, abi::kAttributeMps, device.handle) == abi::kSuccess && value == 1;
}

void refuse_modes(const Driver& driver, const Device& device, Context::Use use) {
  int mode = 0;
  driver.check(driver.call().cuDeviceGetAttribute(&mode, abi::kAttributeComputeMode, device.handle),
               text_of(device) + " does not tell its compute mode");
  if (mode == abi::kComputeModeProhibited)
    throw Fault(
        Cause::kUnsupported,
        text_of(device) + " is in compute mode prohibited, and takes no process; allow them with nvidia-smi -c 0");
  const bool needs_several = use == Context::Use::kBySeveral;
  if (mode == abi::kComputeModeExclusiveProcess && needs_several && !uses_mps(driver, device))
    throw Fault(Cause::kExclusiveProcess,
                text_of(device) + " is in compute mode exclusive-process, and takes one process alone");
}

// A call on a context, for which that is current.
template <class Call>
abi::Result within(const Context& context, Call&& call) {
  const Current current(context);
  return current.result() == abi::kSuccess ? call(context.driver().call()) : current.result();
}

}  // namespace

Context::Context(const Device& device, Use use) : driver_(Driver::get()), device_(device) {
  const BesideCaptures beside(&driver_);
  refuse_modes(driver_, device_, use);
  driver_.check(driver_.call().cuDevicePrimaryCtxRetain(&handle_, device_.handle),
                text_of(device_) + " gives no context");
}

std::shared_ptr<Context> Context::retain(const Device& device, Use use) {
  struct Retained : Context {  // lets make_shared reach the constructor
    Retained(const Device& of, Use by) : Context(of, by) {}
  };
  return std::make_shared<Retained>(device, use);
}

Context::~Context() {
  if (lost()) return;
  const BesideCaptures beside(&driver_);
  driver_.call().cuDevicePrimaryCtxRelease(device_.handle);
}

void Context::reset() {
  if (lost() || lost_.exchange(true)) return;
  const BesideCaptures beside(&driver_);
  // A reset does not undo the retain, which would keep the next context alive for ever; it can't be undone before it.
  driver_.call().cuDevicePrimaryCtxReset(device_.handle);
  driver_.call().cuDevicePrimaryCtxRelease(device_.handle);
  // At once: the next context may be given the same addresses.
  const std::lock_guard lock(mutex_);
  for (auto& [number, range] : ranges_) try_to_give_back(range);
  ranges_.clear();
}

uint64_t Context::keep(const Range& range) {
  const std::lock_guard lock(mutex_);
  ranges_.emplace(++last_range_, range);
  return last_range_;
}

void Context::give_back(uint64_t number) {
  if (driver_.is_forked()) return;  // another thread of the parent may have had the lock
  const BesideCaptures beside(&driver_);
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(number);
  if (found != ranges_.end() && try_to_give_back(found->second)) ranges_.erase(found);
}

// false: an error that a reset clears away; what is still there may be given back then. Addresses that stay mapped are
// kept: something else would be mapped over them.
bool Context::try_to_give_back(Range& range) const {
  const abi::Entries& call = driver_.call();
  if (range.is_mapped) {
    const abi::Result unmapped = call.cuMemUnmap(range.address, range.bytes);
    if (is_sticky(unmapped)) return false;
    range.is_mapped = false;
    if (unmapped != abi::kSuccess) range.address = 0;
  }
  if (range.address != 0 && is_sticky(call.cuMemAddressFree(range.address, range.bytes))) return false;
  range.address = 0;
  return range.handle == 0 || !is_sticky(call.cuMemRelease(range.handle));
}

BesideCaptures::BesideCaptures(const Driver* driver) : driver_(driver) {
  if (driver_ && driver_->call().cuThreadExchangeStreamCaptureMode(&before_) != abi::kSuccess) driver_ = nullptr;
}

BesideCaptures::~BesideCaptures() {
  if (driver_) driver_->call().cuThreadExchangeStreamCaptureMode(&before_);
}

Current::Current(const Context& context) : context_(context), beside_(context.lost() ? nullptr : &context.driver()) {
  result_ = context.lost() ? abi::kContextDestroyed : context.driver().call().cuCtxPushCurrent(context.handle());
}

Current::~Current() {
  abi::Context popped = nullptr;
  if (result_ == abi::kSuccess) context_.driver().call().cuCtxPopCurrent(&popped);
}

MemoryLevels memory_levels(const Context& context) {
  size_t free_bytes = 0, total_bytes = 0;
  context.driver().check(
      within(context, [&](const abi::Entries& call) { return call.cuMemGetInfo(&free_bytes, &total_bytes); }),
      text_of(context.device()) + " does not tell how much memory is free");
  return {free_bytes, total_bytes};
}

Stream::Stream(ContextRef context) : context_(std::move(context)) {
  context_->driver().check(
      within(*context_,
             [&](const abi::Entries& call) { return call.cuStreamCreate(&handle_, abi::kStreamNonBlocking); }),
      "a stream can't be made on " + text_of(context_->device()));
}

Stream::~Stream() {
  within(*context_, [&](const abi::Entries& call) { return call.cuStreamDestroy(handle_); });
}

Event::Event(ContextRef context, Reach reach) : context_(std::move(context)) {
  const unsigned shared = reach == Reach::kInterprocess ? abi::kEventInterprocess : 0;
  const unsigned flags = abi::kEventBlockingSync | abi::kEventDisableTiming | shared;
  context_->driver().check(
      within(*context_, [&](const abi::Entries& call) { return call.cuEventCreate(&handle_, flags); }),
      "an event can't be made on " + text_of(context_->device()));
}

Event::Event(ContextRef context, const abi::IpcEventHandle& shared) : context_(std::move(context)) {
  context_->driver().check(
      within(*context_, [&](const abi::Entries& call) { return call.cuIpcOpenEventHandle(&handle_, shared); }),
      "another process's event can't be opened on " + text_of(context_->device()));
}

Event::~Event() {
  within(*context_, [&](const abi::Entries& call) { return call.cuEventDestroy(handle_); });
}

abi::IpcEventHandle Event::share() const {
  abi::IpcEventHandle shared = {};
  context_->driver().check(
      within(*context_, [&](const abi::Entries& call) { return call.cuIpcGetEventHandle(&shared, handle_); }),
      "an event can't be shared from " + text_of(context_->device()));
  return shared;
}

abi::Result Event::record(abi::Stream stream) {
  return within(*context_, [&](const abi::Entries& call) { return call.cuEventRecord(handle_, stream); });
}

abi::Result Event::make_wait(abi::Stream stream) {
  return within(*context_, [&](const abi::Entries& call) { return call.cuStreamWaitEvent(stream, handle_, 0); });
}

abi::Result Event::query() const {
  return within(*context_, [&](const abi::Entries& call) { return call.cuEventQuery(handle_); });
}

abi::Result Event::wait() const {
  return within(*context_, [&](const abi::Entries& call) { return call.cuEventSynchronize(handle_); });
}

}  // namespace spdld::cuda
