// Memory and events between two processes, by both transports.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <vector>

#include "proto/cuda/objects.h"
#include "tests/cuda/child.h"

namespace spdld::cuda::transport_test {
namespace {

using test::Child;
using test::FakeCuda;
using test::FakeCudaOptions;
using test::fault_of;
using test::in_child;
using test::Link;
using test::Links;

constexpr uint64_t kBytes = 4u << 20;
const std::vector<std::string> kNone;

ContextRef retain_first() { return Context::retain(Driver::get().devices().at(0)); }

unsigned char pattern(uint64_t index) { return static_cast<unsigned char>(index * 7 + (index >> 12)); }

// Copies the pattern into the whole of it, and waits.
void fill(const ContextRef& context, const DeviceMemory& memory) {
  std::vector<unsigned char> host(memory.bytes());
  for (uint64_t index = 0; index < host.size(); ++index) host[index] = pattern(index);
  const RegisteredHost registered(context, host.data(), host.size());
  const Stream stream(context);
  const Current current(*context);
  const abi::Entries& call = context->driver().call();
  EXPECT(call.cuMemcpyHtoDAsync(memory.address(), host.data(), host.size(), stream.handle()) == abi::kSuccess);
  EXPECT(call.cuStreamSynchronize(stream.handle()) == abi::kSuccess);
}

bool has_pattern(const DeviceMemory& memory) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(memory.address());
  for (uint64_t index = 0; index < memory.bytes(); ++index)
    if (bytes[index] != pattern(index)) return false;
  return true;
}

constexpr uint8_t kDone[] = {1};

UniqueFd receive_fd(const Link& link) {
  proto::Received received = link.receive();
  EXPECT(received.fds.size() == 1);
  return std::move(received.fds.front());
}

TEST_CASE("memory by handle reads the same in another process") {
  FakeCuda fake;
  const Links links;
  Child exporter(fake, [&] {
    const ContextRef context = retain_first();
    const HandleMemory memory(context, kBytes - 1);
    EXPECT(memory.bytes() == kBytes);
    fill(context, memory);
    links.one.send_value(memory.share());
    links.one.receive();  // it has closed it
  });
  Child importer(fake, [&] {
    const ContextRef context = retain_first();
    {
      const auto shared = links.other.receive_value<HandleMemory::Shared>();
      const OpenedHandle memory(context, shared, kBytes);
      EXPECT(memory.bytes() == kBytes);
      EXPECT(has_pattern(memory));
      EXPECT(fake.live(getpid()).imports == 1);
    }
    EXPECT(fake.live(getpid()).imports == 0);
    links.other.send(kDone);
  });
  CHECK(importer.outcome() == "");
  CHECK(exporter.outcome() == "");
  CHECK(fake.live().allocations == 0);
  CHECK(fake.used_bytes() == 0);
  CHECK(fake.violations() == kNone);
}

TEST_CASE("memory by file descriptor reads the same in another process, and outlives its maker") {
  FakeCuda fake;
  const Links links;
  Child exporter(fake, [&] {
    const ContextRef context = retain_first();
    const FdMemory memory(context, kBytes);
    fill(context, memory);
    const UniqueFd shared = memory.share();
    const int fds[] = {shared.get()};
    links.one.send(kDone, fds);
    links.one.receive();  // it is mapped; this process ends, and its context with it
  });
  Child importer(fake, [&] {
    const ContextRef context = retain_first();
    {
      const FdMemory memory(context, receive_fd(links.other).get(), kBytes);
      EXPECT(has_pattern(memory));
      EXPECT(fault_of([&] { memory.share(); }).cause() == Cause::kUnsupported);
      links.other.send(kDone);
      links.other.receive();  // the exporter is gone
      EXPECT(has_pattern(memory));
      EXPECT(fake.live(getpid()).imports == 1);
    }
    EXPECT(fake.live(getpid()).imports == 0);
  });
  CHECK(exporter.outcome() == "");
  links.one.send(kDone);
  CHECK(importer.outcome() == "");
  CHECK(fake.used_bytes() == 0);
  CHECK(fake.violations() == kNone);
}

TEST_CASE("an event of one process is waited for in another") {
  FakeCudaOptions options;
  options.copy_us = 1'000'000;  // the other process asks meanwhile, on a machine that others use as well
  FakeCuda fake(options);
  const Links links;
  Child exporter(fake, [&] {
    const ContextRef context = retain_first();
    const FdMemory memory(context, kBytes);
    Event event(context, Event::Reach::kInterprocess);
    const UniqueFd shared = memory.share();
    const int fds[] = {shared.get()};
    links.one.send(kDone, fds);
    links.one.send_value(event.share());
    links.one.receive();  // both are open

    std::vector<unsigned char> host(kBytes);
    for (uint64_t index = 0; index < host.size(); ++index) host[index] = pattern(index);
    const RegisteredHost registered(context, host.data(), host.size());
    const Stream stream(context);
    {
      const Current current(*context);
      EXPECT(context->driver().call().cuMemcpyHtoDAsync(memory.address(), host.data(), kBytes, stream.handle()) ==
             abi::kSuccess);
    }
    EXPECT(event.record(stream.handle()) == abi::kSuccess);
    links.one.send(kDone);  // ready early
    links.one.receive();    // it is through with it
  });
  Child importer(fake, [&] {
    const ContextRef context = retain_first();
    const FdMemory memory(context, receive_fd(links.other).get(), kBytes);
    Event event(context, links.other.receive_value<abi::IpcEventHandle>());
    EXPECT(event.query() == abi::kSuccess);  // not recorded yet
    links.other.send(kDone);
    links.other.receive();
    EXPECT(event.query() == abi::kNotReady);
    const Stream stream(context);
    EXPECT(event.make_wait(stream.handle()) == abi::kSuccess);
    Event behind(context, Event::Reach::kProcess);
    EXPECT(behind.record(stream.handle()) == abi::kSuccess);
    EXPECT(behind.wait() == abi::kSuccess);
    EXPECT(event.query() == abi::kSuccess);
    EXPECT(has_pattern(memory));
    links.other.send(kDone);
  });
  CHECK(importer.outcome() == "");
  CHECK(exporter.outcome() == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("an importer that can't open a handle says why") {
  const std::pair<abi::Result, Cause> expected[] = {
      {abi::kInvalidContext, Cause::kSameProcess},
      {abi::kMapFailed, Cause::kOtherNamespace},
      {abi::kInvalidHandle, Cause::kOtherNamespace},
      {abi::kInvalidDevice, Cause::kGpuNotVisible},
      {abi::kOutOfMemory, Cause::kOutOfMemory},
      {abi::kNotSupported, Cause::kUnsupported},
      {abi::kUnknown, Cause::kFailed},
  };
  FakeCuda fake({.tells_imported_size = true});
  const Links links;
  Child exporter(fake, [&] {
    const ContextRef context = retain_first();
    const HandleMemory memory(context, kBytes);
    links.one.send_value(memory.share());
    links.one.receive();
  });
  Child importer(fake, [&] {
    const ContextRef context = retain_first();
    const auto shared = links.other.receive_value<HandleMemory::Shared>();
    for (const auto& [code, cause] : expected) {
      fake.inject("cuIpcOpenMemHandle", code);
      const Fault fault = fault_of([&] { OpenedHandle(context, shared, kBytes); });
      if (fault.cause() != cause) throw std::runtime_error(fault.what());
    }
    // Smaller than claimed, be it by its size or by its offset.
    EXPECT(fault_of([&] { OpenedHandle(context, shared, 2 * kBytes); }).cause() == Cause::kFailed);
    HandleMemory::Shared shifted = shared;
    shifted.offset = kDeviceGranularity;
    const std::string text = fault_of([&] { OpenedHandle(context, shifted, kBytes); }).what();
    EXPECT(text.find("from byte 2097152 on were promised") != std::string::npos);
    shifted.offset = ~uint64_t{0};
    EXPECT(fault_of([&] { OpenedHandle(context, shifted, kBytes); }).cause() == Cause::kFailed);
    EXPECT(fake.live(getpid()).imports == 0);
    links.other.send(kDone);
  });
  CHECK(importer.outcome() == "");
  CHECK(exporter.outcome() == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("memory whose size the driver does not tell is opened as it was promised") {
  FakeCuda fake;
  const Links links;
  Child exporter(fake, [&] {
    const ContextRef context = retain_first();
    const HandleMemory memory(context, kBytes);
    links.one.send_value(memory.share());
    links.one.receive();  // it has closed it
  });
  Child importer(fake, [&] {
    const ContextRef context = retain_first();
    {
      const OpenedHandle memory(context, links.other.receive_value<HandleMemory::Shared>(), kBytes);
      EXPECT(memory.address() != 0);
      EXPECT(memory.bytes() == kBytes);
    }
    links.other.send(kDone);
  });
  CHECK(importer.outcome() == "");
  CHECK(exporter.outcome() == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a process that opens its own handle is told") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          const ContextRef context = retain_first();
          const HandleMemory memory(context, kBytes);
          const HandleMemory::Shared shared = memory.share();
          EXPECT(fault_of([&] { OpenedHandle(context, shared, kBytes); }).cause() == Cause::kSameProcess);
        }) == "");
}

TEST_CASE("a slice of a GPU shares by neither transport, and says so") {
  FakeCudaOptions options;
  options.mig = true;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          const ContextRef context = retain_first();
          const HandleMemory memory(context, kBytes);
          const Fault by_handle = fault_of([&] { memory.share(); });
          EXPECT(by_handle.cause() == Cause::kMig);
          EXPECT(std::string(by_handle.what()).rfind("mig: ", 0) == 0);
          const Fault by_fd = fault_of([&] { FdMemory(context, kBytes).share(); });
          EXPECT(by_fd.cause() == Cause::kMig);
        }) == "");
}

TEST_CASE("file descriptors are refused by name where the driver has none") {
  FakeCudaOptions options;
  options.shares_fds = false;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          const ContextRef context = retain_first();
          EXPECT(fault_of([&] { FdMemory(context, kBytes).share(); }).cause() == Cause::kUnsupported);
          EXPECT(fake.live().allocations == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a file descriptor that is no memory is refused") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          const ContextRef context = retain_first();
          const Links links;
          EXPECT(fault_of([&] { FdMemory(context, links.one.end.get(), kBytes); }).cause() == Cause::kFailed);
          // Larger than it is.
          const FdMemory memory(context, kBytes);
          const UniqueFd shared = memory.share();
          EXPECT(fault_of([&] { FdMemory(context, shared.get(), 2 * kBytes); }).cause() == Cause::kFailed);
          EXPECT(fake.live().imports == 0);
        }) == "");
}

}  // namespace
}  // namespace spdld::cuda::transport_test
