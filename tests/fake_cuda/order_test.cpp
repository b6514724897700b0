// Copies are asynchronous, streams keep order, and what breaks it is written down.
#include <sys/mman.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/fake_cuda/child.h"

namespace spdld::test::order_test {

namespace {

constexpr uint64_t kBytes = 2u << 20;
constexpr int kGlobal = 1, kThreadLocal = 2, kRelaxed = 3, kInvalidated = 901, kImplicit = 906;  // of captures
constexpr unsigned kInterprocess = abi::kEventInterprocess | abi::kEventDisableTiming;

unsigned char* at(abi::DevicePtr address) { return reinterpret_cast<unsigned char*>(static_cast<uintptr_t>(address)); }

// So slow that on a busy machine, too, a process does what it wants to do while a copy is under way.
FakeCudaOptions slow(uint32_t copy_us = 400'000) {
  FakeCudaOptions options;
  options.copy_us = copy_us;
  return options;
}

// Pages of its own, as registered memory has to be.
struct Host {
  unsigned char* bytes;
  explicit Host(int value) {
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(mapped != MAP_FAILED);
    bytes = static_cast<unsigned char*>(mapped);
    std::memset(bytes, value, kBytes);
  }
  ~Host() { ::munmap(bytes, kBytes); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
};

struct Fixture {
  const Loaded& driver;
  abi::DevicePtr device = 0;
  abi::Stream stream = nullptr, other = nullptr;
  abi::Event event = nullptr;
  explicit Fixture(const Loaded& loaded) : driver(loaded) {
    driver.start();
    GOOD(driver.cuMemAlloc(&device, kBytes));
    GOOD(driver.cuStreamCreate(&stream, abi::kStreamNonBlocking));
    GOOD(driver.cuStreamCreate(&other, abi::kStreamNonBlocking));
    GOOD(driver.cuEventCreate(&event, abi::kEventDisableTiming));
  }
};

}  // namespace

TEST_CASE("a copy from registered memory returns before it is done") {
  const FakeCuda cuda(slow());
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    const Host host(7);
    GOOD(driver.cuMemHostRegister(host.bytes, kBytes, abi::kHostRegisterPortable));
    GOOD(driver.cuEventQuery(on.event));  // never recorded
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    GOOD(driver.cuEventRecord(on.event, on.stream));
    GIVES(abi::kNotReady, driver.cuEventQuery(on.event));
    MUST(at(on.device)[0] >= 0xC0 && at(on.device)[kBytes - 1] >= 0xC0);
    GOOD(driver.cuEventSynchronize(on.event));
    MUST(at(on.device)[0] == 7 && at(on.device)[kBytes - 1] == 7);
    GOOD(driver.cuEventQuery(on.event));
    GOOD(driver.cuMemHostUnregister(host.bytes));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("a copy from other memory is done when it returns") {
  const FakeCuda cuda(slow(1000));
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    const Host host(7);
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    MUST(at(on.device)[kBytes - 1] == 7);
  }));
}

TEST_CASE("streams wait for each other's events, and read before they write") {
  const FakeCuda cuda(slow(20'000));
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    const Host first(7), second(9), back(0);
    for (const Host* host : {&first, &second, &back}) GOOD(driver.cuMemHostRegister(host->bytes, kBytes, 0));
    GOOD(driver.cuMemcpyHtoDAsync(on.device, first.bytes, kBytes, on.stream));
    GOOD(driver.cuEventRecord(on.event, on.stream));
    GOOD(driver.cuStreamWaitEvent(on.other, on.event, 0));
    GOOD(driver.cuMemcpyDtoHAsync(back.bytes, on.device, kBytes, on.other));
    GOOD(driver.cuMemcpyHtoDAsync(on.device, second.bytes, kBytes, on.other));
    GOOD(driver.cuStreamSynchronize(on.other));
    MUST(back.bytes[0] == 7 && back.bytes[kBytes - 1] == 7);
    MUST(at(on.device)[0] == 9);
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("staging changed while its copy was under way") {
  const FakeCuda cuda(slow());
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    const Host host(7);
    GOOD(driver.cuMemHostRegister(host.bytes, kBytes, 0));
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    host.bytes[kBytes / 2] = 8;
    GOOD(driver.cuStreamSynchronize(on.stream));
  }));
  CHECK_THAT(only_violation(cuda), Catch::EndsWith("cuMemcpyHtoDAsync: staging changed while its copy was under way"));
}

TEST_CASE("staging unregistered, or gone, while its copy was under way") {
  const FakeCuda cuda(slow());
  const bool gone = GENERATE(false, true);
  CHECK(runs_well(cuda, [&](const Loaded& driver) {
    const Fixture on(driver);
    auto host = std::make_unique<Host>(7);
    GOOD(driver.cuMemHostRegister(host->bytes, kBytes, 0));
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host->bytes, kBytes, on.stream));
    if (gone)
      host.reset();
    else
      GOOD(driver.cuMemHostUnregister(host->bytes));
    GOOD(driver.cuStreamSynchronize(on.stream));
  }));
  CHECK_THAT(only_violation(cuda), Catch::Contains(gone ? "staging unmapped while" : "staging unregistered while"));
}

TEST_CASE("a slot overwritten while an importer's stream still uses it") {
  const FakeCuda cuda(slow());
  const bool waits = GENERATE(true, false);
  Child exporter(cuda, [&](const Loaded& driver, Channel& channel) {
    const Fixture on(driver);
    const Host host(7), other(8);  // not registered: overwritten at once, and again when the copy is over
    abi::IpcMemHandle handle;
    GOOD(driver.cuIpcGetMemHandle(&handle, on.device));
    channel.tell(handle);
    channel.await();
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    // More than once, since it is not known when the importer's copy begins.
    for (int i = 0; i < 4 && !waits; ++i)
      GOOD(driver.cuMemcpyHtoDAsync(on.device, (i % 2 ? host : other).bytes, kBytes, on.stream));
    channel.await();
  });
  Child importer(cuda, [&](const Loaded& driver, Channel& channel) {
    driver.start();
    const Host host(0);
    const auto handle = channel.hear<abi::IpcMemHandle>();
    abi::DevicePtr address = 0;
    GOOD(driver.cuIpcOpenMemHandle(&address, handle, abi::kIpcLazyEnablePeerAccess));
    GOOD(driver.cuMemHostRegister(host.bytes, kBytes, 0));
    GOOD(driver.cuMemcpyDtoHAsync(host.bytes, address, kBytes, abi::legacy_stream()));
    if (waits) GOOD(driver.cuStreamSynchronize(abi::legacy_stream()));
    channel.go();
    if (!waits) GOOD(driver.cuStreamSynchronize(abi::legacy_stream()));
    GOOD(driver.cuIpcCloseMemHandle(address));
    channel.go();
  });
  importer.channel().tell(exporter.channel().hear<abi::IpcMemHandle>());
  importer.channel().await();
  exporter.channel().go();
  importer.channel().await();
  exporter.channel().go();
  CHECK(importer.ends_well());
  CHECK(exporter.ends_well());
  if (waits)
    CHECK(cuda.violations().empty());
  else
    CHECK_THAT(only_violation(cuda),
               Catch::StartsWith("pid ") && Catch::EndsWith("overwritten while a stream still read it"));
}

TEST_CASE("an event of another process") {
  const FakeCuda cuda(slow());
  const bool by_stream = GENERATE(false, true);
  Child exporter(cuda, [&](const Loaded& driver, Channel& channel) {
    const Fixture on(driver);
    abi::Event event = nullptr;
    GIVES(abi::kInvalidValue, driver.cuEventCreate(&event, abi::kEventInterprocess));
    GOOD(driver.cuEventCreate(&event, kInterprocess));
    abi::IpcEventHandle handle;
    GOOD(driver.cuIpcGetEventHandle(&handle, event));
    abi::Event opened = nullptr;
    GIVES(abi::kInvalidContext, driver.cuIpcOpenEventHandle(&opened, handle));
    const Host host(7);
    GOOD(driver.cuMemHostRegister(host.bytes, kBytes, 0));
    GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    GOOD(driver.cuEventRecord(event, on.stream));
    channel.tell(handle);
    channel.await();
  });
  Child importer(cuda, [&](const Loaded& driver, Channel& channel) {
    driver.start();
    const auto handle = channel.hear<abi::IpcEventHandle>();
    abi::Event event = nullptr;
    GOOD(driver.cuIpcOpenEventHandle(&event, handle));
    GIVES(abi::kNotReady, driver.cuEventQuery(event));
    channel.go();
    if (by_stream) {
      GOOD(driver.cuStreamWaitEvent(abi::legacy_stream(), event, 0));
      GOOD(driver.cuStreamSynchronize(abi::legacy_stream()));
    } else {
      GOOD(driver.cuEventSynchronize(event));
    }
    GOOD(driver.cuEventQuery(event));
    GOOD(driver.cuEventDestroy(event));
  });
  importer.channel().tell(exporter.channel().hear<abi::IpcEventHandle>());
  importer.channel().await();
  CHECK(importer.ends_well());
  exporter.channel().go();
  CHECK(exporter.ends_well());
  CHECK(cuda.violations().empty());
}

TEST_CASE("an event whose process was killed before its work was done never completes") {
  const FakeCuda cuda(slow());
  Child exporter(cuda, [&](const Loaded& driver, Channel& channel) {
    const Fixture on(driver);
    abi::Event event = nullptr;
    GOOD(driver.cuEventCreate(&event, kInterprocess));
    abi::IpcEventHandle handle;
    GOOD(driver.cuIpcGetEventHandle(&handle, event));
    const Host host(7);
    GOOD(driver.cuMemHostRegister(host.bytes, kBytes, 0));
    for (int i = 0; i < 100; ++i) GOOD(driver.cuMemcpyHtoDAsync(on.device, host.bytes, kBytes, on.stream));
    GOOD(driver.cuEventRecord(event, on.stream));
    channel.tell(handle);
    channel.await();
  });
  Child importer(cuda, [&](const Loaded& driver, Channel& channel) {
    const Fixture on(driver);
    abi::Event event = nullptr;
    GOOD(driver.cuIpcOpenEventHandle(&event, channel.hear<abi::IpcEventHandle>()));
    GOOD(driver.cuStreamWaitEvent(on.stream, event, 0));
    GOOD(driver.cuEventRecord(on.event, on.stream));
    channel.go();
    channel.await();
    GIVES(abi::kNotReady, driver.cuEventQuery(event));
    GIVES(abi::kNotReady, driver.cuEventQuery(on.event));
    GOOD(driver.cuDevicePrimaryCtxReset(0));  // nothing else ends the stream's wait
  });
  importer.channel().tell(exporter.channel().hear<abi::IpcEventHandle>());
  importer.channel().await();
  exporter.kill();
  importer.channel().go();
  CHECK(importer.ends_well());
  CHECK(cuda.violations().empty());
}

TEST_CASE("the default stream of a thread, other blocking streams and the legacy stream wait for each other's work") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const abi::Context context = driver.start();
    struct Door {
      std::atomic<bool> open{false};
      static void wait(void* self) { static_cast<Door*>(self)->open.wait(false); }
    } door;
    abi::Stream blocking = nullptr, apart = nullptr;
    abi::Event behind[4] = {};
    GOOD(driver.cuStreamCreate(&blocking, 0));
    GOOD(driver.cuStreamCreate(&apart, abi::kStreamNonBlocking));
    for (abi::Event& event : behind) GOOD(driver.cuEventCreate(&event, abi::kEventDisableTiming));
    GOOD(driver.cuLaunchHostFunc(abi::per_thread_stream(), &Door::wait, &door));
    std::thread([&] {  // this thread's own default stream is another one, and waits for nothing
      GOOD(driver.cuCtxPushCurrent(context));
      GOOD(driver.cuEventRecord(behind[0], abi::per_thread_stream()));
      GOOD(driver.cuStreamSynchronize(abi::per_thread_stream()));
    })
        .join();
    GOOD(driver.cuEventQuery(behind[0]));
    GOOD(driver.cuEventRecord(behind[1], abi::legacy_stream()));
    GOOD(driver.cuEventRecord(behind[2], blocking));
    GOOD(driver.cuEventRecord(behind[3], apart));
    GOOD(driver.cuEventSynchronize(behind[3]));
    GIVES(abi::kNotReady, driver.cuEventQuery(behind[1]));
    GIVES(abi::kNotReady, driver.cuEventQuery(behind[2]));
    door.open = true;
    door.open.notify_all();
    GOOD(driver.cuEventSynchronize(behind[2]));
    GOOD(driver.cuEventQuery(behind[1]));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("a capture forbids calls by its mode and by the thread's, and a forbidden call spoils it") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    const auto elsewhere = [&](int mode) {
      int code = -1;
      std::thread([&] {
        int exchanged = mode;
        GOOD(driver.cuThreadExchangeStreamCaptureMode(&exchanged));
        MUST(exchanged == 0);
        code = driver.cuEventQuery(on.event);
      }).join();
      return code;
    };
    const std::tuple<int, int, int> modes[] = {{kGlobal, 900, 900}, {kThreadLocal, 900, 0}, {kRelaxed, 0, 0}};
    for (const auto& [mode, here, there] : modes) {
      GOOD(driver.capture(on.stream, mode));
      GIVES(here, driver.cuEventQuery(on.event));
      GIVES(here ? kInvalidated : 0, driver.capture(on.stream, 0));
      GOOD(driver.capture(on.stream, mode));
      GIVES(there, elsewhere(0));
      GOOD(elsewhere(1));
      GOOD(elsewhere(abi::kCaptureModeRelaxed));
      GIVES(there ? kInvalidated : 0, driver.capture(on.stream, 0));
    }
    abi::Stream blocking = nullptr;
    GOOD(driver.cuStreamCreate(&blocking, 0));
    GOOD(driver.capture(blocking, kRelaxed));
    int status = 0;
    GIVES(kImplicit, driver.cuStreamIsCapturing(abi::legacy_stream(), &status));
    GIVES(kImplicit, driver.cuEventRecord(on.event, abi::legacy_stream()));
    GOOD(driver.capture(blocking, 0));
    GOOD(driver.cuEventRecord(on.event, abi::legacy_stream()));
  }));
  const auto breaches = cuda.violations();
  REQUIRE(breaches.size() == 3);
  for (const auto& breach : breaches)
    CHECK_THAT(breach, Catch::EndsWith("cuEventQuery: called while a capture forbids it to this thread"));
}

TEST_CASE("a driver's call inside a host function") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    struct Seen {
      const Loaded* driver;
      abi::Event event;
      std::atomic<int> code{-1};
    } seen{&driver, on.event, {}};
    seen.code.store(-1);
    GOOD(driver.cuLaunchHostFunc(
        on.stream,
        [](void* argument) {
          auto& told = *static_cast<Seen*>(argument);
          told.code.store(told.driver->cuEventQuery(told.event));
        },
        &seen));
    GOOD(driver.cuStreamSynchronize(on.stream));
    MUST(seen.code.load() == abi::kNotPermitted);
    GOOD(driver.cuEventQuery(on.event));  // outside it may
  }));
  CHECK_THAT(only_violation(cuda), Catch::EndsWith("cuEventQuery: called inside a host function"));
}

TEST_CASE("an event recorded on a stream that is capturing") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    const Fixture on(driver);
    int status = -1;
    driver.set_capturing(on.stream, true);
    GOOD(driver.cuStreamIsCapturing(on.stream, &status));
    MUST(status == abi::kCaptureActive);
    GIVES(abi::kStreamCaptureUnsupported, driver.cuEventRecord(on.event, on.stream));
    driver.set_capturing(on.stream, false);
    GOOD(driver.cuStreamIsCapturing(on.stream, &status));
    MUST(status == abi::kCaptureNone);
    GOOD(driver.cuEventRecord(on.event, on.stream));
  }));
  CHECK_THAT(only_violation(cuda), Catch::EndsWith("an event recorded on a stream that is capturing"));
}

}  // namespace spdld::test::order_test
