// What is used after its end, or ended twice.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/fake_cuda/child.h"

namespace spdld::test::lifetime_test {

namespace {

constexpr uint64_t kBytes = 2u << 20;
constexpr int kNotRegistered = 713;

struct Breach {
  std::string sentence;
  std::function<void(const Loaded&)> body;  // with a current context
};

abi::Stream dead_stream(const Loaded& driver) {
  abi::Stream stream = nullptr;
  GOOD(driver.cuStreamCreate(&stream, abi::kStreamNonBlocking));
  GOOD(driver.cuStreamDestroy(stream));
  return stream;
}

abi::Event dead_event(const Loaded& driver) {
  abi::Event event = nullptr;
  GOOD(driver.cuEventCreate(&event, abi::kEventDisableTiming));
  GOOD(driver.cuEventDestroy(event));
  return event;
}

const std::vector<Breach>& breaches() {
  static const std::vector<Breach> all = {
      {"cuMemFree: device memory freed twice",
       [](const Loaded& driver) {
         abi::DevicePtr address = 0;
         GOOD(driver.cuMemAlloc(&address, kBytes));
         GOOD(driver.cuMemFree(address));
         GIVES(abi::kInvalidValue, driver.cuMemFree(address));
       }},
      {"cuMemHostUnregister: host memory unregistered twice",
       [](const Loaded& driver) {
         std::vector<char> host(4096);
         GOOD(driver.cuMemHostRegister(host.data(), host.size(), 0));
         GIVES(abi::kHostMemoryAlreadyRegistered, driver.cuMemHostRegister(host.data() + 8, 8, 0));
         GOOD(driver.cuMemHostUnregister(host.data()));
         GIVES(kNotRegistered, driver.cuMemHostUnregister(host.data()));
       }},
      {"cuEventDestroy: an event destroyed twice",
       [](const Loaded& driver) { GIVES(abi::kInvalidHandle, driver.cuEventDestroy(dead_event(driver))); }},
      {"cuEventQuery: an event used after it was destroyed",
       [](const Loaded& driver) { GIVES(abi::kInvalidHandle, driver.cuEventQuery(dead_event(driver))); }},
      {"cuEventRecord: an event used after it was destroyed",
       [](const Loaded& driver) {
         GIVES(abi::kInvalidHandle, driver.cuEventRecord(dead_event(driver), abi::legacy_stream()));
       }},
      {"cuStreamDestroy: a stream used after it was destroyed",
       [](const Loaded& driver) { GIVES(abi::kInvalidHandle, driver.cuStreamDestroy(dead_stream(driver))); }},
      {"cuStreamSynchronize: a stream used after it was destroyed",
       [](const Loaded& driver) { GIVES(abi::kInvalidHandle, driver.cuStreamSynchronize(dead_stream(driver))); }},
      {"cuMemRelease: a memory handle released twice",
       [](const Loaded& driver) {
         abi::MemAllocationProp prop = {};
         prop.type = abi::kMemAllocationPinned;
         prop.location.type = abi::kMemLocationDevice;
         abi::MemHandle handle = 0;
         GOOD(driver.cuMemCreate(&handle, kBytes, &prop, 0));
         GOOD(driver.cuMemRelease(handle));
         GIVES(abi::kInvalidValue, driver.cuMemRelease(handle));
       }},
      {"cuMemAlloc: a context used after it was released",
       [](const Loaded& driver) {
         GOOD(driver.cuDevicePrimaryCtxRelease(0));
         abi::DevicePtr address = 0;
         MUST(driver.cuMemAlloc(&address, kBytes) != abi::kSuccess);
       }},
      {"cuCtxPushCurrent: a context used after it was released",
       [](const Loaded& driver) {
         abi::Context context = nullptr;
         GOOD(driver.cuCtxPopCurrent(&context));
         GOOD(driver.cuDevicePrimaryCtxRelease(0));
         GIVES(abi::kInvalidContext, driver.cuCtxPushCurrent(context));
       }},
      {"cuDevicePrimaryCtxRelease: a primary context released more often than retained",
       [](const Loaded& driver) {
         GOOD(driver.cuDevicePrimaryCtxRelease(0));
         GIVES(abi::kInvalidContext, driver.cuDevicePrimaryCtxRelease(0));
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("every breach of a lifetime is told, and crashes nobody") {
  for (const Breach& breach : breaches()) {
    INFO(breach.sentence);
    const FakeCuda cuda;
    CHECK(runs_well(cuda, [&](const Loaded& driver) {
      driver.start();
      breach.body(driver);
    }));
    CHECK_THAT(only_violation(cuda), Catch::EndsWith(breach.sentence));
  }
}

TEST_CASE("what was never given out is no breach") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    GIVES(abi::kInvalidHandle, driver.cuEventQuery(nullptr));
    GIVES(abi::kInvalidValue, driver.cuMemFree(4096));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("an event that its maker destroyed while another process has it open") {
  const FakeCuda cuda;
  Child exporter(cuda, [](const Loaded& driver, Channel& channel) {
    driver.start();
    abi::Event event = nullptr;
    GOOD(driver.cuEventCreate(&event, abi::kEventInterprocess | abi::kEventDisableTiming));
    abi::IpcEventHandle handle;
    GOOD(driver.cuIpcGetEventHandle(&handle, event));
    channel.tell(handle);
    channel.await();
    GOOD(driver.cuEventDestroy(event));
    channel.go();
    channel.await();
  });
  Child importer(cuda, [](const Loaded& driver, Channel& channel) {
    driver.start();
    abi::Event event = nullptr;
    GOOD(driver.cuIpcOpenEventHandle(&event, channel.hear<abi::IpcEventHandle>()));
    GOOD(driver.cuEventQuery(event));
    channel.go();
    channel.await();
    GIVES(abi::kInvalidHandle, driver.cuEventQuery(event));
    GOOD(driver.cuEventDestroy(event));
  });
  importer.channel().tell(exporter.channel().hear<abi::IpcEventHandle>());
  importer.channel().await();
  exporter.channel().go();
  exporter.channel().await();
  importer.channel().go();
  CHECK(importer.ends_well());
  exporter.channel().go();
  CHECK(exporter.ends_well());
  CHECK_THAT(only_violation(cuda), Catch::EndsWith("an event used after the process that made it destroyed it"));
}

TEST_CASE("the ledger counts what lives, and nothing after its end") {
  const FakeCuda cuda;
  Child child(cuda, [](const Loaded& driver, Channel& channel) {
    driver.start();
    abi::DevicePtr address = 0;
    abi::Stream stream = nullptr;
    abi::Event event = nullptr;
    std::vector<char> host(4096);
    GOOD(driver.cuMemAlloc(&address, kBytes));
    GOOD(driver.cuStreamCreate(&stream, 0));
    GOOD(driver.cuEventCreate(&event, 0));
    GOOD(driver.cuMemHostRegister(host.data(), host.size(), 0));
    channel.go();
    channel.await();
    GOOD(driver.cuMemHostUnregister(host.data()));
    GOOD(driver.cuEventDestroy(event));
    GOOD(driver.cuStreamDestroy(stream));
    GOOD(driver.cuMemFree(address));
    channel.go();
    channel.await();
    GOOD(driver.cuDevicePrimaryCtxRelease(0));
    channel.go();
    channel.await();
  });
  child.channel().await();
  auto live = cuda.live(child.pid());
  CHECK(live.contexts == 1);
  CHECK(live.streams == 1);
  CHECK(live.events == 1);
  CHECK(live.allocations == 1);
  CHECK(live.registrations == 1);
  CHECK(live.device_bytes == kBytes);
  CHECK(cuda.live(child.pid() + 1).contexts == 0);
  child.channel().go();
  child.channel().await();
  live = cuda.live();
  CHECK(live.contexts == 1);
  CHECK(live.streams + live.events + live.allocations + live.registrations + live.device_bytes == 0);
  child.channel().go();
  child.channel().await();
  CHECK(cuda.live().contexts == 0);
  CHECK(cuda.used_bytes() == 0);
  child.channel().go();
  CHECK(child.ends_well());
  CHECK(cuda.violations().empty());
}

}  // namespace spdld::test::lifetime_test
