#include "proto/cuda/objects.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/cuda/child.h"

namespace spdld::cuda::objects_test {
namespace {

using test::FakeCuda;
using test::FakeCudaLive;
using test::FakeCudaOptions;
using test::fault_of;
using test::in_child;

constexpr uint64_t kBytes = 4u << 20;
const std::vector<std::string> kNone;

ContextRef retain_first() { return Context::retain(Driver::get().devices().at(0)); }

// Nothing but contexts is left.
bool is_bare(const FakeCudaLive& live, uint64_t contexts) {
  return live.contexts == contexts && live.streams == 0 && live.events == 0 && live.allocations == 0 &&
         live.imports == 0 && live.registrations == 0;
}

// Calls that make something less those that give it back: what no ledger counts. `failed` of the first kind made
// nothing.
struct Balance {
  int64_t addresses = 0, mappings = 0, handles = 0, contexts = 0;
  bool operator==(const Balance&) const = default;
};
Balance balance_of(const FakeCuda& fake, std::string_view failed = {}) {
  const auto made = [&](std::string_view symbol) {
    return static_cast<int64_t>(fake.calls(symbol)) - (symbol == failed ? 1 : 0);
  };
  return {made("cuMemAddressReserve") - made("cuMemAddressFree"), made("cuMemMap") - made("cuMemUnmap"),
          made("cuMemCreate") + made("cuMemImportFromShareableHandle") - made("cuMemRelease"),
          made("cuDevicePrimaryCtxRetain") - made("cuDevicePrimaryCtxRelease")};
}

TEST_CASE("a GPU that takes one process alone is refused before it is taken") {
  FakeCudaOptions options;
  options.exclusive_process = true;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          const Fault fault = fault_of(retain_first);
          const std::string text = fault.what();
          EXPECT(fault.cause() == Cause::kExclusiveProcess);
          EXPECT(text.rfind("exclusive-process: GPU 0 (", 0) == 0);
          EXPECT(text.find(to_text(Driver::get().devices()[0].uuid)) != std::string::npos);
          EXPECT(text.find("nvidia-smi -c 0") != std::string::npos);
          EXPECT(fake.calls("cuDevicePrimaryCtxRetain") == 0);
          EXPECT(is_bare(fake.live(), 0));
        }) == "");
}

TEST_CASE("a GPU that takes one process alone is this process's, where no other needs it") {
  FakeCudaOptions options;
  options.exclusive_process = true;
  FakeCuda fake(options);
  const test::Links links;
  test::Child first(fake, [&] {
    const ContextRef context = Context::retain(Driver::get().devices().at(0), Context::Use::kByOne);
    links.one.send_value(context->handle() != nullptr);
    links.one.receive();
  });
  REQUIRE(links.other.receive_value<bool>());
  CHECK(in_child(fake, [] {
          const Fault fault = fault_of([] { Context::retain(Driver::get().devices().at(0), Context::Use::kByOne); });
          EXPECT(fault.cause() == Cause::kExclusiveProcess);
          EXPECT(fault.code() == abi::kDeviceUnavailable);
        }) == "");
  links.other.send_value(true);
  CHECK(first.outcome() == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a context that the driver refuses is a named fault") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          fake.inject("cuDevicePrimaryCtxRetain", abi::kDeviceUnavailable);
          EXPECT(fault_of(retain_first).cause() == Cause::kExclusiveProcess);
          fake.inject("cuDevicePrimaryCtxRetain", abi::kOutOfMemory);
          EXPECT(fault_of(retain_first).cause() == Cause::kOutOfMemory);
          fake.inject("cuDeviceGetAttribute", abi::kUnknown);
          EXPECT(fault_of(retain_first).cause() == Cause::kFailed);
          EXPECT(is_bare(fake.live(), 0));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("everything that was lent is given back") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          const auto host = std::make_unique<std::array<char, 1 << 16>>();
          {
            const ContextRef context = retain_first();
            EXPECT(is_bare(fake.live(), 1));
            {
              const Stream stream(context);
              const Event local(context, Event::Reach::kProcess), shared(context, Event::Reach::kInterprocess);
              const RegisteredHost registered(context, host->data(), host->size());
              const HandleMemory by_handle(context, 1);
              const FdMemory by_fd(context, kBytes + 1);
              EXPECT(by_handle.bytes() == kDeviceGranularity);
              EXPECT(by_handle.address() != 0);
              EXPECT(by_fd.bytes() == kBytes + kDeviceGranularity);
              EXPECT(by_fd.address() != 0);
              const FakeCudaLive live = fake.live(getpid());
              EXPECT(live.contexts == 1);
              EXPECT(live.streams == 1);
              EXPECT(live.events == 2);
              EXPECT(live.allocations == 2);
              EXPECT(live.registrations == 1);
            }
            EXPECT(is_bare(fake.live(), 1));
          }
          EXPECT(is_bare(fake.live(), 0));
          EXPECT(fake.used_bytes() == 0);
          EXPECT(balance_of(fake) == Balance());
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a failure in the middle of making something undoes what was made before it") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          const ContextRef context = retain_first();
          const uint64_t used_bytes = fake.used_bytes();
          char host[4096];
          const FdMemory whole(context, kBytes);
          const UniqueFd shared = whole.share();

          const std::function<void()> makers[] = {
              [&] { Stream stream(context); },
              [&] { Event(context, Event::Reach::kInterprocess); },
              [&] { RegisteredHost(context, host, sizeof host); },
              [&] { HandleMemory(context, kBytes); },
              [&] { FdMemory(context, kBytes); },
              [&] { FdMemory(context, shared.get(), kBytes); },
              [&] { memory_levels(*context); },
              [&] { whole.share(); },
              [&] { HandleMemory(context, kBytes).share(); },
              [&] { Event(context, Event::Reach::kInterprocess).share(); },
          };
          const FakeCudaLive before = fake.live();
          uint64_t faults = 0;
          for (const char* symbol :
               {"cuCtxPushCurrent", "cuStreamCreate", "cuEventCreate", "cuMemHostRegister", "cuMemAlloc",
                "cuMemGetInfo", "cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve", "cuMemMap",
                "cuMemSetAccess", "cuMemImportFromShareableHandle", "cuMemExportToShareableHandle", "cuIpcGetMemHandle",
                "cuMemGetAddressRange", "cuIpcGetEventHandle"}) {
            for (const auto& make : makers) {
              fake.clear_faults();
              const uint64_t struck = fake.struck();
              const Balance owed = balance_of(fake);
              fake.inject(symbol, abi::kNotSupported);
              const Fault fault = fault_of(make);
              const bool is_struck = fake.struck() > struck;
              if (is_struck != (fault.cause() == Cause::kUnsupported))
                throw std::runtime_error(std::string(symbol) + ": " + fault.what());
              faults += is_struck;
              EXPECT(balance_of(fake, is_struck ? symbol : "") == owed);
              const FakeCudaLive after = fake.live();
              EXPECT(after.streams == before.streams);
              EXPECT(after.events == before.events);
              EXPECT(after.allocations == before.allocations);
              EXPECT(after.imports == before.imports);
              EXPECT(after.registrations == before.registrations);
              EXPECT(after.device_bytes == before.device_bytes);
            }
          }
          fake.clear_faults();
          EXPECT(faults >= 16 + 9);  // every symbol, and the push in every maker
          for (const auto& make : makers) make();
          EXPECT(fake.used_bytes() == used_bytes + kBytes);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("the caller's current context is left as it was") {
  FakeCudaOptions options;
  options.devices = 2;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          const Driver& driver = Driver::get();
          const ContextRef mine = Context::retain(driver.devices().at(0)),
                           theirs = Context::retain(driver.devices().at(1));
          abi::Context popped = nullptr;
          EXPECT(driver.call().cuCtxPopCurrent(&popped) != abi::kSuccess);  // none is current

          const auto use_all = [&] {
            const Stream stream(mine);
            Event event(mine, Event::Reach::kProcess);
            const HandleMemory memory(mine, kBytes);
            EXPECT(event.record(stream.handle()) == abi::kSuccess);
            EXPECT(event.make_wait(stream.handle()) == abi::kSuccess);
            EXPECT(event.wait() == abi::kSuccess);
            EXPECT(memory_levels(*mine).total_bytes == mine->device().bytes);
          };
          use_all();
          EXPECT(driver.call().cuCtxPopCurrent(&popped) != abi::kSuccess);

          EXPECT(driver.call().cuCtxPushCurrent(theirs->handle()) == abi::kSuccess);
          use_all();
          EXPECT(driver.call().cuCtxPopCurrent(&popped) == abi::kSuccess);
          EXPECT(popped == theirs->handle());
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a copy's event tells when it is done") {
  FakeCudaOptions options;
  options.copy_us = 20'000;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          const ContextRef context = retain_first();
          const abi::Entries& call = Driver::get().call();
          std::vector<char> host(4096, 'x');
          const RegisteredHost registered(context, host.data(), host.size());
          const FdMemory memory(context, kBytes);
          const Stream stream(context);
          Event event(context, Event::Reach::kProcess);
          EXPECT(event.query() == abi::kSuccess);  // never recorded
          {
            const Current current(*context);
            EXPECT(call.cuMemcpyHtoDAsync(memory.address(), host.data(), host.size(), stream.handle()) ==
                   abi::kSuccess);
          }
          EXPECT(event.record(stream.handle()) == abi::kSuccess);
          EXPECT(event.query() == abi::kNotReady);
          EXPECT(event.wait() == abi::kSuccess);
          EXPECT(event.query() == abi::kSuccess);
          EXPECT(std::memcmp(reinterpret_cast<const void*>(memory.address()), host.data(), host.size()) == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("memory levels follow what is allocated") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          const ContextRef context = retain_first();
          const MemoryLevels before = memory_levels(*context);
          EXPECT(before.total_bytes == context->device().bytes);
          const HandleMemory memory(context, kBytes);
          EXPECT(memory_levels(*context).free_bytes == before.free_bytes - kBytes);
          const Fault fault = fault_of([&] { HandleMemory(context, 2 * before.total_bytes); });
          EXPECT(fault.cause() == Cause::kOutOfMemory);
          EXPECT(std::string(fault.what()).rfind("out-of-memory: GPU 0 gives no 2048 MiB of memory (", 0) == 0);
          EXPECT(memory_levels(*context).free_bytes == before.free_bytes - kBytes);
        }) == "");
}

TEST_CASE("after a sticky error a reset forgets everything, and the GPU can be taken again") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          {
            const ContextRef context = retain_first();
            Stream stream(context);
            Event event(context, Event::Reach::kProcess);
            const HandleMemory by_handle(context, kBytes);
            const FdMemory by_fd(context, kBytes);

            fake.inject("cuEventRecord", abi::kIllegalAddress);
            EXPECT(event.record(stream.handle()) == abi::kIllegalAddress);
            EXPECT(event.record(stream.handle()) == abi::kIllegalAddress);  // it sticks
            const Fault fault = fault_of([&] { Stream another(context); });
            EXPECT(fault.cause() == Cause::kContextLost);
            EXPECT(is_sticky(fault.code()));
            EXPECT(!context->lost());

            context->reset();
            context->reset();
            EXPECT(context->lost());
            EXPECT(fake.calls("cuDevicePrimaryCtxReset") == 1);
            EXPECT(event.query() == abi::kContextDestroyed);
            EXPECT(fault_of([&] { Stream another(context); }).cause() == Cause::kContextLost);
          }
          EXPECT(fake.calls("cuStreamDestroy") == 0);
          EXPECT(fake.calls("cuEventDestroy") == 0);
          EXPECT(fake.calls("cuMemFree") == 0);
          EXPECT(fake.used_bytes() == 0);  // virtual memory lives on no context

          {
            const ContextRef again = retain_first();
            const Stream stream(again);
            Event event(again, Event::Reach::kProcess);
            EXPECT(event.record(stream.handle()) == abi::kSuccess);
            EXPECT(event.wait() == abi::kSuccess);
            EXPECT(HandleMemory(again, kBytes).address() != 0);
          }
          EXPECT(balance_of(fake).contexts == 0);
          EXPECT(is_bare(fake.live(), 0));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("memory that goes between a sticky error and the reset is given back by the reset") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          const ContextRef context = retain_first();
          auto gone = std::make_unique<FdMemory>(context, kBytes);
          const FdMemory held(context, kBytes);
          fake.inject("cuMemGetInfo", abi::kTensorMemoryLeak);
          EXPECT(fault_of([&] { memory_levels(*context); }).cause() == Cause::kContextLost);
          gone.reset();
          EXPECT(fake.live().device_bytes == 2 * kBytes);
          context->reset();
          EXPECT(fake.used_bytes() == 0);
          EXPECT(is_bare(fake.live(), 0));
          const Balance balance = balance_of(fake);
          EXPECT(balance.addresses == 0 && balance.contexts == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

}  // namespace
}  // namespace spdld::cuda::objects_test
