// Streams, copies and events.
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/support/fake_cuda/capture.h"
#include "tests/support/fake_cuda/exports.h"
#include "tests/support/fake_cuda/process.h"

using namespace spdld::test::fake;  // NOLINT: exports are global
using abi::Result;

namespace {

constexpr Result kCaptureInvalidated = static_cast<Result>(901);
constexpr Result kCaptureIsolation = static_cast<Result>(905);
constexpr Result kCaptureImplicit = static_cast<Result>(906);

// A range of device memory that stays while work on it is under way, whatever its owner does.
struct Place {
  std::shared_ptr<Physical> physical;
  uint64_t offset = 0;
};

bool find_place(uint64_t address, uint64_t bytes, Place* place) {
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const Mapping* mapping = own.mapping_of(address, bytes);
  if (!mapping || !mapping->usable) return false;
  *place = {mapping->physical, mapping->offset + (address - mapping->base)};
  return true;
}

std::shared_ptr<Registration> pinned(const void* address, uint64_t bytes) {
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  auto registration = own.registration_of(address, bytes);
  if (registration) registration->copies.fetch_add(1);
  return registration;
}

struct CopyIn {
  std::shared_ptr<Stream> stream;  // alive while its thread is
  Place to;
  const void* source;
  uint64_t bytes, sum;
  std::shared_ptr<Registration> registration;  // none: the caller waits
  bool spoiled;                                // the target, before it was this one's turn

  void run() const {
    name_entry(Symbol::cuMemcpyHtoDAsync);
    if (stream->context()->is_usable()) {
      if (!spoiled) to.physical->fill(to.offset, bytes, not_yet_copied());
      stream->pause(ledger()->options().copy_us);
    }
    if (stream->context()->is_usable()) {
      if (!to.physical->write(to.offset, source, bytes))
        breach("staging unmapped while its copy was under way");
      else if (to.physical->checksum(to.offset, bytes) != sum)
        breach("staging changed while its copy was under way");
    }
    if (registration) registration->copies.fetch_sub(1);
  }
};

struct CopyAcross {
  std::shared_ptr<Stream> stream;
  Place from, to;
  uint64_t bytes;

  void run() const {
    name_entry(Symbol::cuMemcpyDtoDAsync);
    if (!stream->context()->is_usable()) return;
    std::vector<uint8_t> content(bytes);
    from.physical->read(from.offset, content.data(), bytes);
    to.physical->fill(to.offset, bytes, not_yet_copied());
    stream->pause(ledger()->options().copy_us);
    if (!stream->context()->is_usable()) return;
    const uint64_t before = checksum_of(content.data(), bytes);
    if (from.physical->checksum(from.offset, bytes) != before)
      breach("device memory overwritten while a copy still read it");
    to.physical->write(to.offset, content.data(), bytes);
  }
};

struct CopyOut {
  std::shared_ptr<Stream> stream;
  Place from;
  void* target;
  uint64_t bytes;
  std::shared_ptr<Registration> registration;

  void run() const {
    name_entry(Symbol::cuMemcpyDtoHAsync);
    if (stream->context()->is_usable()) {
      const uint64_t before = from.physical->checksum(from.offset, bytes);
      stream->pause(2 * ledger()->options().copy_us);  // a copy that begins meanwhile ends meanwhile
      if (stream->context()->is_usable() && from.physical->checksum(from.offset, bytes) != before)
        breach("device memory overwritten while a stream still read it");
    }
    if (stream->context()->is_usable() && !from.physical->read(from.offset, target, bytes))
      breach("the target of a copy unmapped while the copy was under way");
    if (registration) registration->copies.fetch_sub(1);
  }
};

// While a blocking stream is captured, the legacy default stream can't be used.
bool is_barred(const Stream& stream) {
  return stream.ordering() == Stream::Ordering::kLegacy && stream.context()->has_blocking_capture();
}

// The stream of a call that graph capture does not take.
Found<Stream> find_free_stream(abi::Stream handle) {
  auto found = find_stream(handle);
  if (found.object && is_barred(*found.object)) return {nullptr, kCaptureImplicit};
  if (found.object && found.object->capturing.load()) return {nullptr, abi::kStreamCaptureUnsupported};
  return found;
}

}  // namespace

Result cuStreamCreate(abi::Stream* stream, unsigned flags) {
  if (const auto refused = begin(Symbol::cuStreamCreate)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (!stream || flags > abi::kStreamNonBlocking) return abi::kInvalidValue;
  Process& own = *process();
  const std::lock_guard lock(own.mutex);
  const auto ordering = flags == abi::kStreamNonBlocking ? Stream::Ordering::kNonBlocking : Stream::Ordering::kBlocking;
  *stream = as_handle<abi::Stream>(own.streams.add(Stream::make(current.context, ordering)));
  own.row.streams.fetch_add(1);
  return abi::kSuccess;
}

Result cuStreamDestroy_v2(abi::Stream handle) {
  if (const auto refused = begin(Symbol::cuStreamDestroy)) return *refused;
  if (number_of(handle) <= 2) return abi::kInvalidHandle;
  const auto found = find_stream(handle);
  if (!found.object) return found.result;
  Process& own = *process();
  {
    const std::lock_guard lock(own.mutex);
    if (!own.streams.take(number_of(handle))) return abi::kInvalidHandle;
    own.row.streams.fetch_sub(1);
  }
  found.object->close();
  return abi::kSuccess;
}

Result cuStreamSynchronize(abi::Stream handle) {
  if (const auto refused = begin(Symbol::cuStreamSynchronize)) return *refused;
  const auto found = find_free_stream(handle);
  if (!found.object) return found.result;
  found.object->put_order();
  found.object->wait_idle();
  return health_of(*found.object->context());
}

Result cuStreamIsCapturing(abi::Stream handle, int* status) {
  if (const auto refused = begin(Symbol::cuStreamIsCapturing)) return *refused;
  const auto found = find_stream(handle);
  if (!found.object) return found.result;
  if (is_barred(*found.object)) return kCaptureImplicit;
  *status = found.object->capturing.load() ? abi::kCaptureActive : abi::kCaptureNone;
  return abi::kSuccess;
}

int spdld_fake_cuda_set_capturing(void* stream, int capturing) {
  const auto found = find_stream(static_cast<abi::Stream>(stream));
  if (!found.object) return found.result;
  if (capturing == 0) return end_capture(found.object) ? abi::kSuccess : kCaptureInvalidated;
  if (capturing < 0 || capturing > 3) return abi::kInvalidValue;
  begin_capture(found.object, static_cast<CaptureMode>(capturing - 1));
  return abi::kSuccess;
}

Result cuStreamBeginCapture_v2(abi::Stream stream, int mode) {
  return mode < 0 ? abi::kInvalidValue : static_cast<Result>(spdld_fake_cuda_set_capturing(stream, mode + 1));
}

Result cuStreamEndCapture(abi::Stream stream, void** graph) {
  if (graph) *graph = nullptr;
  return static_cast<Result>(spdld_fake_cuda_set_capturing(stream, 0));
}

Result cuThreadExchangeStreamCaptureMode(int* mode) {
  if (const auto refused = begin(Symbol::cuThreadExchangeStreamCaptureMode)) return *refused;
  if (!mode || *mode < 0 || *mode > 2) return abi::kInvalidValue;
  const auto before = std::exchange(thread_capture_mode(), static_cast<CaptureMode>(*mode));
  *mode = static_cast<int>(before);
  return abi::kSuccess;
}

Result cuMemcpyHtoDAsync_v2(abi::DevicePtr target, const void* source, size_t bytes, abi::Stream handle) {
  if (const auto refused = begin(Symbol::cuMemcpyHtoDAsync)) return *refused;
  if (const auto current = current_context(); !current.context) return current.result;
  const auto found = find_free_stream(handle);
  if (!found.object) return found.result;
  Place to;
  if (bytes == 0) return abi::kSuccess;
  if (!find_place(target, bytes, &to)) return abi::kInvalidValue;
  const auto registration = pinned(source, bytes);
  // At once, where nothing under way may still rely on what is there: who reads too early shall see it.
  const Touched writes = {to.physical.get(), to.offset, bytes};
  const bool spoiled = found.object->is_free(writes);
  if (spoiled) to.physical->fill(to.offset, bytes, not_yet_copied());
  const CopyIn copy{found.object, to, source, bytes, checksum_of(source, bytes), registration, spoiled};
  const uint64_t number = found.object->put({[copy] { copy.run(); }, writes, false});
  if (!registration) found.object->wait_for(number);
  return abi::kSuccess;
}

Result cuMemcpyDtoDAsync_v2(abi::DevicePtr target, abi::DevicePtr source, size_t bytes, abi::Stream handle) {
  if (const auto refused = begin(Symbol::cuMemcpyDtoDAsync)) return *refused;
  if (const auto current = current_context(); !current.context) return current.result;
  const auto found = find_free_stream(handle);
  if (!found.object) return found.result;
  Place from, to;
  if (bytes == 0) return abi::kSuccess;
  if (!find_place(source, bytes, &from) || !find_place(target, bytes, &to)) return abi::kInvalidValue;
  const CopyAcross copy{found.object, from, to, bytes};
  found.object->put({[copy] { copy.run(); }, {to.physical.get(), to.offset, bytes}, true});
  return abi::kSuccess;
}

Result cuMemcpyDtoHAsync_v2(void* target, abi::DevicePtr source, size_t bytes, abi::Stream handle) {
  if (const auto refused = begin(Symbol::cuMemcpyDtoHAsync)) return *refused;
  if (const auto current = current_context(); !current.context) return current.result;
  const auto found = find_free_stream(handle);
  if (!found.object) return found.result;
  Place from;
  if (bytes == 0) return abi::kSuccess;
  if (!find_place(source, bytes, &from)) return abi::kInvalidValue;
  const auto registration = pinned(target, bytes);
  const CopyOut copy{found.object, from, target, bytes, registration};
  const uint64_t number = found.object->put({[copy] { copy.run(); }, {}, true});
  if (!registration) found.object->wait_for(number);
  return abi::kSuccess;
}

Result cuLaunchHostFunc(abi::Stream handle, abi::HostFunction function, void* argument) {
  if (const auto refused = begin(Symbol::cuLaunchHostFunc)) return *refused;
  const auto found = find_free_stream(handle);
  if (!found.object) return found.result;
  if (!function) return abi::kInvalidValue;
  const auto context = found.object->context();
  found.object->put({[context, function, argument] {
                       if (!context->is_usable()) return;  // as with a real one: it is not called after an error
                       in_host_function() = true;
                       function(argument);
                       in_host_function() = false;
                     },
                     {},
                     true});
  return abi::kSuccess;
}

Result cuEventCreate(abi::Event* event, unsigned flags) {
  if (const auto refused = begin(Symbol::cuEventCreate)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  const bool shared = flags & abi::kEventInterprocess;
  if (!event || flags > 7 || (shared && !(flags & abi::kEventDisableTiming))) return abi::kInvalidValue;
  Process& own = *process();
  try {
    auto made = std::make_shared<Event>(current.context, flags);
    const std::lock_guard lock(own.mutex);
    *event = as_handle<abi::Event>(own.events.add(std::move(made)));
  } catch (const std::system_error&) {
    return abi::kOutOfMemory;
  }
  own.row.events.fetch_add(1);
  return abi::kSuccess;
}

Result cuEventDestroy_v2(abi::Event handle) {
  if (const auto refused = begin(Symbol::cuEventDestroy)) return *refused;
  Process& own = *process();
  std::shared_ptr<Event> gone;
  {
    const std::lock_guard lock(own.mutex);
    gone = own.events.find(number_of(handle));
    if (!gone) {
      if (own.events.was_given(number_of(handle))) breach("an event destroyed twice");
      return abi::kInvalidHandle;
    }
    if (const Result health = health_of(*gone->context())) return health;
    own.events.take(number_of(handle));
    own.row.events.fetch_sub(1);
  }
  gone->mark_destroyed();
  return abi::kSuccess;
}

Result cuEventRecord(abi::Event handle, abi::Stream stream_handle) {
  if (const auto refused = begin(Symbol::cuEventRecord)) return *refused;
  const auto event = find_event(handle);
  if (!event.object) return event.result;
  const auto stream = find_stream(stream_handle);
  if (!stream.object) return stream.result;
  if (stream.object->capturing.load()) {
    breach("an event recorded on a stream that is capturing");
    return abi::kStreamCaptureUnsupported;
  }
  if (stream.object->context() != event.object->context()) return abi::kInvalidHandle;
  if (is_barred(*stream.object)) return kCaptureImplicit;
  const uint64_t ticket = event.object->record();
  stream.object->put({[recorded = event.object, ticket] { recorded->complete(ticket); }, {}, false});
  return abi::kSuccess;
}

Result cuEventQuery(abi::Event handle) {
  if (const auto refused = begin(Symbol::cuEventQuery)) return *refused;
  const auto found = find_event(handle);
  if (!found.object) return found.result;
  return found.object->is_through(found.object->last_ticket()) ? abi::kSuccess : abi::kNotReady;
}

Result cuEventSynchronize(abi::Event handle) {
  if (const auto refused = begin(Symbol::cuEventSynchronize)) return *refused;
  const auto found = find_event(handle);
  if (!found.object) return found.result;
  const auto& context = found.object->context();
  found.object->wait(found.object->last_ticket(), [&] { return !context->is_usable(); });
  return health_of(*context);
}

Result cuStreamWaitEvent(abi::Stream handle, abi::Event event_handle, unsigned flags) {
  if (const auto refused = begin(Symbol::cuStreamWaitEvent)) return *refused;
  const auto stream = find_stream(handle);
  if (!stream.object) return stream.result;
  const auto event = find_event(event_handle);
  if (!event.object) return event.result;
  if (flags != 0) return abi::kInvalidValue;
  if (stream.object->capturing.load()) return kCaptureIsolation;
  const uint64_t ticket = event.object->last_ticket();
  if (event.object->is_through(ticket)) return abi::kSuccess;
  const auto context = stream.object->context();
  const auto wait = [awaited = event.object, ticket, context] {
    awaited->wait(ticket, [&] { return !context->is_usable(); });
  };
  stream.object->put({wait, {}, true});
  return abi::kSuccess;
}

Result cuIpcGetEventHandle(abi::IpcEventHandle* handle, abi::Event event_handle) {
  if (const auto refused = begin(Symbol::cuIpcGetEventHandle)) return *refused;
  const auto found = find_event(event_handle);
  if (!found.object) return found.result;
  if (!ledger()->options().shares_handles()) return abi::kNotSupported;
  if (!found.object->is_shared() || found.object->is_foreign()) return abi::kInvalidValue;
  const ShareNote note = found.object->note();
  *handle = {};
  std::memcpy(handle->reserved.data(), &note, sizeof note);
  return abi::kSuccess;
}

Result cuIpcOpenEventHandle(abi::Event* event, abi::IpcEventHandle handle) {
  if (const auto refused = begin(Symbol::cuIpcOpenEventHandle)) return *refused;
  const auto current = current_context();
  if (!current.context) return current.result;
  if (!ledger()->options().shares_handles()) return abi::kNotSupported;
  ShareNote note;
  std::memcpy(&note, handle.reserved.data(), sizeof note);
  Process& own = *process();
  if (note.magic != kEventMagic) return abi::kInvalidValue;
  if (note.exporter == own.key) return abi::kInvalidContext;
  const int fd = open_shared(note);
  if (fd < 0) return fd == -EACCES || fd == -EPERM ? abi::kMapFailed : abi::kInvalidValue;
  try {
    auto opened = std::make_shared<Event>(current.context, note, spdld::UniqueFd(fd));
    const std::lock_guard lock(own.mutex);
    *event = as_handle<abi::Event>(own.events.add(std::move(opened)));
  } catch (const std::system_error&) {
    return abi::kMapFailed;
  }
  own.row.events.fetch_add(1);
  return abi::kSuccess;
}
