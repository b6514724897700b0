#include "tests/support/fake_cuda/process.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_cuda/capture.h"

namespace spdld::test::fake {

namespace {

constexpr abi::Result kContextIsDestroyed = static_cast<abi::Result>(709);

// Neither is ever destroyed.
std::atomic<Ledger*> the_ledger{nullptr};
std::atomic<Process*> the_process{nullptr};
std::mutex starting;

thread_local Symbol current_entry = Symbol::cuInit;

bool is_sticky(int code) {
  switch (code) {
    case abi::kEccUncorrectable:
    case abi::kNvlinkUncorrectable:
    case abi::kContained:
    case abi::kIllegalAddress:
    case abi::kLaunchTimeout:
    case abi::kAssert:
    case abi::kHardwareStackError:
    case abi::kIllegalInstruction:
    case abi::kMisalignedAddress:
    case abi::kInvalidAddressSpace:
    case abi::kInvalidPc:
    case abi::kLaunchFailed:
    case abi::kTensorMemoryLeak:
    case abi::kMpsRpcFailure:
    case abi::kMpsClientTerminated:
    case abi::kExternalDevice:
      return true;
    default:
      return false;
  }
}

// The documented ones: "the process must be terminated and relaunched".
bool ends_process(int code) { return code == abi::kMpsClientTerminated || code == abi::kExternalDevice; }

std::optional<int> device_named(const std::string& name, const FakeCudaOptions& options) {
  const std::string prefix = options.mig ? "MIG-" : "GPU-";
  for (int device = 0; device < options.devices; ++device)
    if (name == std::to_string(device) ||
        (name.size() > prefix.size() && (prefix + uuid_text(device)).compare(0, name.size(), name) == 0))
      return device;
  return std::nullopt;
}

// CUDA_VISIBLE_DEVICES: what comes behind a name of no device is not seen, and nothing is where one comes twice.
std::vector<int> visible_devices(const FakeCudaOptions& options) {
  std::vector<int> seen;
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!wanted) {
    for (int device = 0; device < options.devices; ++device) seen.push_back(device);
    return seen;
  }
  std::string rest = wanted;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const auto device = device_named(rest.substr(0, comma), options);
    if (!device) break;
    if (std::find(seen.begin(), seen.end(), *device) != seen.end()) return {};
    seen.push_back(*device);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return seen;
}

void wake_all_on(Process& own, const std::shared_ptr<Context>& context);

// The current context; without one, all that this process has.
void poison(int code) {
  Process* own = process();
  if (!own || !is_sticky(code)) return;
  if (ends_process(code)) own->ended_by.store(code);
  std::vector<std::shared_ptr<Context>> struck;
  {
    const std::lock_guard lock(own->mutex);
    for (const auto& [handle, context] : own->contexts) {
      if (!context->is_alive() || (!context_stack().empty() && context_stack().back() != handle)) continue;
      int none = 0;
      context->sticky.compare_exchange_strong(none, code);
      struck.push_back(context);
    }
  }
  for (const auto& context : struck) wake_all_on(*own, context);
}

// So that nobody sleeps on what will not come any more.
void wake_all_on(Process& own, const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(own.mutex);
  if (context->legacy) context->legacy->wake();
  for (const auto& [thread, stream] : context->of_threads) stream->wake();
  own.streams.for_each([&](Stream& stream) {
    if (stream.context() == context) stream.wake();
  });
  own.events.for_each([&](Event& event) {
    if (event.context() == context) event.wake();
  });
}

}  // namespace

Ledger* ledger() {
  if (Ledger* found = the_ledger.load()) return found;
  const std::lock_guard lock(starting);
  if (!the_ledger.load()) the_ledger.store(Ledger::from_environment().release());
  return the_ledger.load();
}

Process* process() { return the_process.load(); }

bool is_forked() {
  const Process* own = process();
  return own && own->key.pid != ::getpid();
}

abi::Result start_process() {
  Ledger* shared = ledger();
  if (!shared) return abi::kNoDevice;
  const std::lock_guard lock(starting);
  if (the_process.load()) return abi::kSuccess;
  auto seen = visible_devices(shared->options());
  if (seen.empty()) return abi::kNoDevice;
  ProcessRow* row = shared->join();
  if (!row) return abi::kUnknown;
  the_process.store(std::make_unique<Process>(*shared, *row, std::move(seen)).release());
  return abi::kSuccess;
}

std::optional<abi::Result> begin(Symbol symbol, bool needs_init) {
  current_entry = symbol;
  Ledger* shared = ledger();
  if (shared) shared->count(symbol);
  if (in_host_function()) {
    breach("called inside a host function");
    return abi::kNotPermitted;
  }
  const bool forked = is_forked();
  if (needs_init && (forked || !process())) return abi::kNotInitialized;
  if (!shared || forked) return std::nullopt;
  if (const auto code = shared->strike(symbol)) {
    poison(*code);
    return static_cast<abi::Result>(*code);
  }
  if (const auto refused = refused_by_capture(symbol)) {
    breach("called while a capture forbids it to this thread");
    return refused;
  }
  return std::nullopt;
}

void breach(const std::string& sentence) {
  if (Ledger* shared = ledger()) shared->breach(name_of(current_entry), sentence);
}

void name_entry(Symbol symbol) { current_entry = symbol; }

std::vector<uint64_t>& context_stack() {
  thread_local std::vector<uint64_t> stack;
  return stack;
}

abi::Result health_of(const Context& context) {
  if (const int code = context.sticky.load(); code != 0 && context.is_alive()) return static_cast<abi::Result>(code);
  return context.is_alive() ? abi::kSuccess : kContextIsDestroyed;
}

CurrentContext current_context() {
  if (context_stack().empty()) return {nullptr, abi::kInvalidContext};
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto found = own.contexts.find(context_stack().back());
  if (found == own.contexts.end()) return {nullptr, abi::kInvalidContext};
  if (found->second->state.load() == Context::State::kReleased) breach("a context used after it was released");
  const abi::Result health = health_of(*found->second);
  return {health == abi::kSuccess ? found->second : nullptr, health};
}

namespace {

uint64_t thread_number() {
  static std::atomic<uint64_t> last{0};
  thread_local const uint64_t number = ++last;
  return number;
}

}  // namespace

Found<Stream> find_stream(abi::Stream handle) {
  Process& own = *process();
  const uint64_t number = number_of(handle);
  if (number <= 2) {  // a default stream
    const auto current = current_context();
    if (!current.context) return {nullptr, current.result};
    const std::lock_guard lock(own.mutex);
    if (!current.context->is_alive()) return {nullptr, kContextIsDestroyed};
    const bool is_threads = number == number_of(abi::per_thread_stream());
    auto& stream = is_threads ? current.context->of_threads[thread_number()] : current.context->legacy;
    if (!stream)
      stream = Stream::make(current.context, is_threads ? Stream::Ordering::kBlocking : Stream::Ordering::kLegacy);
    return {stream, abi::kSuccess};
  }
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(own.mutex);
    stream = own.streams.find(number);
    if (!stream && own.streams.was_given(number)) breach("a stream used after it was destroyed");
  }
  if (!stream) return {nullptr, abi::kInvalidHandle};
  const abi::Result health = health_of(*stream->context());
  return {health == abi::kSuccess ? stream : nullptr, health};
}

Found<Event> find_event(abi::Event handle) {
  Process& own = *process();
  std::shared_ptr<Event> event;
  {
    const std::lock_guard lock(own.mutex);
    event = own.events.find(number_of(handle));
    if (!event && own.events.was_given(number_of(handle))) breach("an event used after it was destroyed");
  }
  if (!event) return {nullptr, abi::kInvalidHandle};
  if (event->is_orphaned()) {
    breach("an event used after the process that made it destroyed it");
    return {nullptr, abi::kInvalidHandle};
  }
  const abi::Result health = health_of(*event->context());
  return {health == abi::kSuccess ? event : nullptr, health};
}

const Mapping* Process::mapping_of(uint64_t address, uint64_t bytes) const {
  auto found = mappings.upper_bound(address);
  if (found == mappings.begin()) return nullptr;
  --found;
  const Mapping& mapping = found->second;
  const bool fits = address - mapping.base < mapping.bytes && bytes <= mapping.bytes - (address - mapping.base);
  return fits ? &mapping : nullptr;
}

std::shared_ptr<Registration> Process::registration_of(const void* address, uint64_t bytes) const {
  const uint64_t start = number_of(address);
  auto found = registrations.upper_bound(start);
  if (found == registrations.begin()) return nullptr;
  --found;
  const Registration& one = *found->second;
  const bool fits = start - one.base < one.bytes && bytes <= one.bytes - (start - one.base);
  return fits ? found->second : nullptr;
}

void drop_memory(const Physical& physical) {
  const auto importers = process()->ledger.drop(physical.id);
  if (physical.transport != Transport::kHandle) return;
  for (const pid_t pid : importers) breach("device memory freed while process " + std::to_string(pid) + " has it open");
}

namespace {

// What went with a context, to be let go of outside the lock.
struct Ended {
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Event>> events;
  std::vector<Mapping> mappings;
};

// Virtual memory is no context's: it stays until the process gives it back, after a reset as well.
Ended take_all(Process& own, const std::shared_ptr<Context>& context) {
  Ended ended;
  const std::lock_guard lock(own.mutex);
  ended.streams = own.streams.take_if([&](const Stream& stream) { return stream.context() == context; });
  own.row.streams.fetch_sub(static_cast<int64_t>(ended.streams.size()));
  if (context->legacy) ended.streams.push_back(std::move(context->legacy));
  for (auto& [thread, stream] : std::exchange(context->of_threads, {})) ended.streams.push_back(stream);
  ended.events = own.events.take_if([&](const Event& event) { return event.context() == context; });
  own.row.events.fetch_sub(static_cast<int64_t>(ended.events.size()));
  for (auto at = own.mappings.begin(); at != own.mappings.end();) {
    const bool goes = at->second.context == context;
    if (goes) ended.mappings.push_back(at->second);
    at = goes ? own.mappings.erase(at) : std::next(at);
  }
  for (auto at = own.registrations.begin(); at != own.registrations.end();) {
    const bool goes = at->second->context == context;
    if (goes) own.row.registrations.fetch_sub(1);
    at = goes ? own.registrations.erase(at) : std::next(at);
  }
  return ended;
}

}  // namespace

void end_context(const std::shared_ptr<Context>& context, Context::State how) {
  Process& own = *process();
  context->state.store(how);
  wake_all_on(own, context);
  const bool is_reset = how == Context::State::kReset;
  const Ended ended = take_all(own, context);
  for (const auto& event : ended.events) event->mark_destroyed();
  for (const auto& stream : ended.streams) {
    stream->close();
    stream->wake();
    stream->wait_idle();
  }
  for (const auto& mapping : ended.mappings) {
    unmap(mapping.base, mapping.bytes);
    if (is_reset)
      own.ledger.drop(mapping.physical->id);
    else
      drop_memory(*mapping.physical);
  }
  own.ledger.drop_context(context->device);
}

}  // namespace spdld::test::fake
