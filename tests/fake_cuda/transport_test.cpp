// Both ways to show device memory to another process, and what its end leaves.
#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/fake_cuda/child.h"

namespace spdld::test::transport_test {

namespace {

constexpr uint64_t kBytes = 2u << 20, kContextBytes = 64u << 20;

char* at(abi::DevicePtr address) { return reinterpret_cast<char*>(static_cast<uintptr_t>(address)); }

abi::MemAllocationProp prop() {
  abi::MemAllocationProp prop = {};
  prop.type = abi::kMemAllocationPinned;
  prop.requested_handle_types = abi::kMemHandlePosixFile;
  prop.location = {abi::kMemLocationDevice, 0};
  return prop;
}

abi::DevicePtr map(const Loaded& driver, abi::MemHandle handle) {
  abi::DevicePtr address = 0;
  GOOD(driver.cuMemAddressReserve(&address, kBytes, 0, 0, 0));
  GOOD(driver.cuMemMap(address, kBytes, 0, handle, 0));
  const abi::MemAccessDesc access = {{abi::kMemLocationDevice, 0}, abi::kMemAccessReadWrite};
  GOOD(driver.cuMemSetAccess(address, kBytes, &access, 1));
  return address;
}

void unmap(const Loaded& driver, abi::DevicePtr address) {
  GOOD(driver.cuMemUnmap(address, kBytes));
  GOOD(driver.cuMemAddressFree(address, kBytes));
}

// Shows memory with 7s by a handle; frees it when told so.
void export_handle(const Loaded& driver, Channel& channel) {
  driver.start();
  abi::DevicePtr address = 0;
  GOOD(driver.cuMemAlloc(&address, kBytes));
  std::memset(at(address), 7, kBytes);
  abi::IpcMemHandle handle;
  GOOD(driver.cuIpcGetMemHandle(&handle, address));
  channel.tell(handle);
  channel.await();
  GOOD(driver.cuMemFree(address));
  GOOD(driver.cuDevicePrimaryCtxRelease(0));
  channel.go();
  channel.await();
}

void export_fd(const Loaded& driver, Channel& channel) {
  driver.start();
  const auto wanted = prop();
  abi::MemHandle handle = 0;
  GOOD(driver.cuMemCreate(&handle, kBytes, &wanted, 0));
  const abi::DevicePtr address = map(driver, handle);
  std::memset(at(address), 7, kBytes);
  int fd = -1;
  GOOD(driver.cuMemExportToShareableHandle(&fd, handle, abi::kMemHandlePosixFile, 0));
  channel.tell('f', fd);
  ::close(fd);
  channel.await();
  unmap(driver, address);
  GOOD(driver.cuMemRelease(handle));
  GOOD(driver.cuDevicePrimaryCtxRelease(0));
  channel.go();
  channel.await();
}

void import_handle(const Loaded& driver, Channel& channel) {
  driver.start();
  const auto handle = channel.hear<abi::IpcMemHandle>();
  abi::DevicePtr address = 0, again = 0;
  GOOD(driver.cuIpcOpenMemHandle(&address, handle, abi::kIpcLazyEnablePeerAccess));
  GOOD(driver.cuIpcOpenMemHandle(&again, handle, abi::kIpcLazyEnablePeerAccess));
  MUST(address == again);
  GOOD(driver.cuIpcCloseMemHandle(again));
  MUST(at(address)[0] == 7 && at(address)[kBytes - 1] == 7);
  channel.go();
  channel.await();
  MUST(at(address)[0] == 7);
  GOOD(driver.cuIpcCloseMemHandle(address));
  channel.go();
  channel.await();
}

void import_fd(const Loaded& driver, Channel& channel) {
  driver.start();
  UniqueFd fd;
  channel.hear<char>(&fd);
  abi::MemHandle handle = 0;
  void* const shared = reinterpret_cast<void*>(static_cast<uintptr_t>(fd.get()));
  GOOD(driver.cuMemImportFromShareableHandle(&handle, shared, abi::kMemHandlePosixFile));
  fd.reset();
  const abi::DevicePtr address = map(driver, handle);
  GOOD(driver.cuMemRelease(handle));
  MUST(at(address)[0] == 7 && at(address)[kBytes - 1] == 7);
  channel.go();
  channel.await();
  MUST(at(address)[0] == 7);
  unmap(driver, address);
  channel.go();
  channel.await();
}

}  // namespace

TEST_CASE("handles: another process sees the bytes, and who closes in order hears nothing") {
  const FakeCuda cuda;
  Child exporter(cuda, export_handle), importer(cuda, import_handle);
  importer.channel().tell(exporter.channel().hear<abi::IpcMemHandle>());
  importer.channel().await();
  CHECK(cuda.used_bytes() == 2 * kContextBytes + kBytes);
  CHECK(cuda.live(exporter.pid()).allocations == 1);
  CHECK(cuda.live(importer.pid()).imports == 1);
  CHECK(cuda.live(importer.pid()).allocations == 0);
  importer.channel().go();
  importer.channel().await();
  CHECK(cuda.live(importer.pid()).imports == 0);
  exporter.channel().go();
  exporter.channel().await();
  CHECK(cuda.used_bytes() == kContextBytes);
  exporter.channel().go();
  importer.channel().go();
  CHECK(exporter.ends_well());
  CHECK(importer.ends_well());
  CHECK(cuda.violations().empty());
  CHECK(cuda.used_bytes() == 0);
}

TEST_CASE("handles: freed while an importer has it open") {
  const FakeCuda cuda;
  Child exporter(cuda, export_handle), importer(cuda, import_handle);
  importer.channel().tell(exporter.channel().hear<abi::IpcMemHandle>());
  importer.channel().await();
  exporter.channel().go();
  exporter.channel().await();
  CHECK_THAT(only_violation(cuda), Catch::Contains("cuMemFree: device memory freed while process " +
                                                   std::to_string(importer.pid()) + " has it open"));
  CHECK_THAT(only_violation(cuda), Catch::StartsWith("pid " + std::to_string(exporter.pid()) + ":"));
}

TEST_CASE("handles: an importer that was killed holds nothing") {
  const FakeCuda cuda;
  Child exporter(cuda, export_handle), importer(cuda, import_handle);
  importer.channel().tell(exporter.channel().hear<abi::IpcMemHandle>());
  importer.channel().await();
  CHECK(cuda.live().imports == 1);
  importer.kill();
  CHECK(cuda.live().imports == 0);
  exporter.channel().go();
  exporter.channel().await();
  CHECK(cuda.violations().empty());
}

TEST_CASE("handles: opened after it was freed, and after its exporter was killed") {
  const FakeCuda cuda;
  Child exporter(cuda, export_handle);
  const auto handle = exporter.channel().hear<abi::IpcMemHandle>();
  exporter.channel().go();
  exporter.channel().await();
  const auto open = [&](const Loaded& driver) {
    driver.start();
    abi::DevicePtr address = 0;
    GIVES(abi::kInvalidValue, driver.cuIpcOpenMemHandle(&address, handle, abi::kIpcLazyEnablePeerAccess));
  };
  CHECK(runs_well(cuda, open));
  CHECK_THAT(only_violation(cuda), Catch::Contains("cuIpcOpenMemHandle: device memory opened after it was freed"));
  exporter.kill();
  CHECK(runs_well(cuda, open));
  CHECK(cuda.violations().size() == 1);  // a death is nobody's fault
}

TEST_CASE("handles: opened in the exporter's own process") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    abi::DevicePtr address = 0, opened = 0;
    GOOD(driver.cuMemAlloc(&address, kBytes));
    abi::IpcMemHandle handle;
    GOOD(driver.cuIpcGetMemHandle(&handle, address));
    GIVES(abi::kInvalidContext, driver.cuIpcOpenMemHandle(&opened, handle, abi::kIpcLazyEnablePeerAccess));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("file descriptors: the memory lives as long as anybody has it mapped") {
  const FakeCuda cuda;
  Child exporter(cuda, export_fd), importer(cuda, import_fd);
  UniqueFd fd;
  exporter.channel().hear<char>(&fd);
  importer.channel().tell('f', fd.get());
  fd.reset();
  importer.channel().await();
  CHECK(cuda.used_bytes() == 2 * kContextBytes + kBytes);
  exporter.channel().go();
  exporter.channel().await();
  CHECK(cuda.used_bytes() == kContextBytes + kBytes);
  CHECK(cuda.live(importer.pid()).device_bytes == kBytes);
  SECTION("let go of in order") {
    importer.channel().go();
    importer.channel().await();
    importer.channel().go();
    CHECK(importer.ends_well());
  }
  SECTION("killed") { importer.kill(); }
  CHECK(cuda.used_bytes() == 0);
  CHECK(cuda.live().imports == 0);
  CHECK(cuda.violations().empty());
}

TEST_CASE("file descriptors: one that is under way when its exporter is killed can still be imported") {
  const FakeCuda cuda;
  Child exporter(cuda, export_fd), importer(cuda, import_fd);
  UniqueFd fd;
  exporter.channel().hear<char>(&fd);
  exporter.kill();
  CHECK(cuda.live().allocations == 0);
  importer.channel().tell('f', fd.get());
  importer.channel().await();
  CHECK(cuda.used_bytes() == kContextBytes + kBytes);
  CHECK(cuda.violations().empty());
}

TEST_CASE("what a killed process used is free, again and again") {
  const FakeCuda cuda;
  for (int i = 0; i < 20; ++i) {
    Child exporter(cuda, i % 2 ? export_fd : export_handle), importer(cuda, i % 2 ? import_fd : import_handle);
    if (i % 2) {
      UniqueFd fd;
      exporter.channel().hear<char>(&fd);
      importer.channel().tell('f', fd.get());
    } else {
      importer.channel().tell(exporter.channel().hear<abi::IpcMemHandle>());
    }
    importer.channel().await();
    REQUIRE(cuda.used_bytes() == 2 * kContextBytes + kBytes);
    exporter.kill();
    REQUIRE(cuda.used_bytes() == kContextBytes + (i % 2 ? kBytes : 0));
    importer.kill();
    REQUIRE(cuda.used_bytes() == 0);
  }
  CHECK(cuda.live().contexts == 0);
  CHECK(cuda.violations().empty());
}

TEST_CASE("a process that is killed at any moment holds nobody up") {
  const FakeCuda cuda;
  for (int i = 0; i < 30; ++i) {
    Child child(cuda, [](const Loaded& driver, Channel& channel) {
      driver.start();
      channel.go();
      for (int turn = 0; turn < 1'000'000; ++turn) {
        abi::DevicePtr address = 0;
        GOOD(driver.cuMemAlloc(&address, kBytes));
        GOOD(driver.cuMemFree(address));
      }
    });
    child.channel().await();
    REQUIRE(cuda.used_bytes() >= kContextBytes);
    child.kill();
    REQUIRE(cuda.used_bytes() == 0);
  }
  CHECK(cuda.violations().empty());
}

TEST_CASE("the rules of mapping") {
  const FakeCuda cuda;
  CHECK(runs_well(cuda, [](const Loaded& driver) {
    driver.start();
    const auto wanted = prop();
    size_t granularity = 0;
    GOOD(driver.cuMemGetAllocationGranularity(&granularity, &wanted, abi::kMemGranularityMinimum));
    MUST(granularity == kBytes);
    abi::MemHandle handle = 0;
    abi::DevicePtr address = 0;
    GIVES(abi::kInvalidValue, driver.cuMemCreate(&handle, kBytes + 4096, &wanted, 0));
    GOOD(driver.cuMemCreate(&handle, kBytes, &wanted, 0));
    GIVES(abi::kInvalidValue, driver.cuMemAddressReserve(&address, kBytes / 2, 0, 0, 0));
    GOOD(driver.cuMemAddressReserve(&address, kBytes, 0, 0, 0));
    GIVES(abi::kInvalidValue, driver.cuMemMap(address + kBytes, kBytes, 0, handle, 0));
    GOOD(driver.cuMemMap(address, kBytes, 0, handle, 0));
    GIVES(abi::kInvalidValue, driver.cuMemMap(address, kBytes, 0, handle, 0));
    std::vector<char> host(64);
    GIVES(abi::kInvalidValue, driver.cuMemcpyHtoDAsync(address, host.data(), host.size(), abi::legacy_stream()));
    abi::MemHandle none = 0;
    void* const no_memory = reinterpret_cast<void*>(uintptr_t{0});
    GIVES(abi::kInvalidValue, driver.cuMemImportFromShareableHandle(&none, no_memory, abi::kMemHandlePosixFile));
    GOOD(driver.cuMemUnmap(address, kBytes));
    GOOD(driver.cuMemAddressFree(address, kBytes));
    GOOD(driver.cuMemRelease(handle));
  }));
  CHECK(cuda.violations().empty());
}

TEST_CASE("slices, and GPUs that share no file descriptors") {
  FakeCudaOptions options;
  options.mig = GENERATE(false, true);
  options.shares_fds = false;
  const FakeCuda cuda(options);
  CHECK(runs_well(cuda, [&](const Loaded& driver) {
    driver.start();
    int value = -1;
    GOOD(driver.cuDeviceGetAttribute(&value, abi::kAttributePosixFileHandles, 0));
    MUST(value == 0);
    const auto wanted = prop();
    abi::MemHandle handle = 0;
    GIVES(abi::kNotSupported, driver.cuMemCreate(&handle, kBytes, &wanted, 0));
    abi::DevicePtr address = 0;
    GOOD(driver.cuMemAlloc(&address, kBytes));
    abi::IpcMemHandle shared;
    GIVES(options.mig ? abi::kNotSupported : abi::kSuccess, driver.cuIpcGetMemHandle(&shared, address));
  }));
}

}  // namespace spdld::test::transport_test
