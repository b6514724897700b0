#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/memory/cuda/gpu.h"
#include "daemon/memory/host/host_slot.h"
#include "proto/cuda/driver.h"
#include "tests/memory/gpus_fixture.h"

namespace spdld::memory::faults_test {
namespace {

using cuda::abi::Result;
using test::FakeCuda;
using test::fill;
using test::in_child;
using test::is_clean;
using test::kMiB;
using test::make_ring;
using test::ring_of;

const std::vector<std::string> kNone;

// The sentence names its cause.
bool is_named(const std::string& sentence) {
  for (int cause = 0; cause <= static_cast<int>(cuda::Cause::kFailed); ++cause) {
    const std::string name(cuda::name_of(static_cast<cuda::Cause>(cause)));
    if (sentence.rfind(name + ": ", 0) == 0) return true;
  }
  return false;
}

void expect_named(const Error& error, const std::string& where) {
  if (!is_named(error.message)) throw std::runtime_error(where + ": unnamed: " + error.message);
}

// A ring's whole life, in which a fault may strike anywhere.
void live_through(Gpus& gpus, Transport transport, const std::string& where) {
  DeviceRing wanted = ring_of(2, 50'000, transport);
  wanted.ready_early = true;
  ::spdld::Result<SlotMemories> ring = test::try_ring(gpus, wanted);
  if (!ring) return expect_named(ring.error(), where);
  for (uint8_t batch = 1; batch < 4; ++batch) {
    const Status filled = fill(*(*ring)[batch % 2], batch);
    if (!filled) expect_named(filled.error(), where);
  }
}

void wait_until_closed(const Gpus& gpus, const std::string& where) {
  if (!test::becomes_true([&] { return gpus.report().gpus[0].state != "open"; }))
    throw std::runtime_error(where + ": it stays open");
}

void expect_recovery(Gpus& gpus, Transport transport, const std::string& where) {
  const auto ring = test::try_ring(gpus, ring_of(2, 50'000, transport));
  if (!ring) throw std::runtime_error(where + ": no ring afterwards: " + ring.error().message);
  for (uint8_t batch = 1; batch < 4; ++batch)
    if (!fill(*(*ring)[batch % 2], batch)) throw std::runtime_error(where + ": a batch fails afterwards");
}

// Those that a daemon calls.
const std::vector<std::string> kEntries = {"cuDeviceGetAttribute",
                                           "cuDevicePrimaryCtxRetain",
                                           "cuDevicePrimaryCtxRelease",
                                           "cuDevicePrimaryCtxReset",
                                           "cuCtxPushCurrent",
                                           "cuMemGetInfo",
                                           "cuMemAlloc",
                                           "cuMemFree",
                                           "cuMemGetAddressRange",
                                           "cuMemHostRegister",
                                           "cuMemHostUnregister",
                                           "cuMemcpyHtoDAsync",
                                           "cuStreamCreate",
                                           "cuStreamDestroy",
                                           "cuStreamSynchronize",
                                           "cuEventCreate",
                                           "cuEventDestroy",
                                           "cuEventRecord",
                                           "cuEventSynchronize",
                                           "cuIpcGetEventHandle",
                                           "cuIpcGetMemHandle",
                                           "cuMemGetAllocationGranularity",
                                           "cuMemCreate",
                                           "cuMemRelease",
                                           "cuMemExportToShareableHandle",
                                           "cuMemAddressReserve",
                                           "cuMemAddressFree",
                                           "cuMemMap",
                                           "cuMemUnmap",
                                           "cuMemSetAccess"};

// Where giving back fails, something stays behind.
bool gives_back(const std::string& entry) {
  for (const char* name : {"Free", "Unregister", "Destroy", "Release", "Unmap", "PushCurrent", "Reset"})
    if (entry.find(name) != std::string::npos) return true;
  return false;
}

bool is_same(const test::FakeCudaLive& one, const test::FakeCudaLive& other) {
  return one.contexts == other.contexts && one.streams == other.streams && one.events == other.events &&
         one.allocations == other.allocations && one.registrations == other.registrations &&
         one.device_bytes == other.device_bytes;
}

// An address range is freed also where what was mapped there could not be unmapped.
bool follows_from_the_fault(const std::string& violation) {
  return violation.find("cuMemAddressFree: an address range freed while memory is mapped") != std::string::npos;
}

void expect_every_fault_is_survived(FakeCuda& fake, Result code) {
  cuda::Driver::get();  // faults while it is loaded are the business of tests/cuda
  Gpus::Settings settings;
  settings.idle_ms = 0;
  Gpus gpus(settings);
  for (const std::string& entry : kEntries)
    for (const uint64_t nth : {1, 3}) {
      const std::string where = entry + " " + std::to_string(nth) + " " + std::to_string(code);
      const uint64_t struck = fake.struck();
      const test::FakeCudaLive before = fake.live(getpid());
      fake.inject(entry, code, nth);
      for (const Transport transport : {Transport::kFd, Transport::kHandle}) live_through(gpus, transport, where);
      wait_until_closed(gpus, where);
      // A context is reset only after an error that loses it.
      if (nth == 1 && entry != "cuDevicePrimaryCtxReset" && fake.struck() == struck)
        throw std::runtime_error(where + ": the fault never struck");
      fake.clear_faults();
      expect_recovery(gpus, nth == 1 ? Transport::kFd : Transport::kHandle, where);
      wait_until_closed(gpus, where);
      if (!gives_back(entry) && !is_same(before, fake.live(getpid())))
        throw std::runtime_error(where + ": something is left");
    }
  gpus.stop();
}

TEST_CASE("a fault in any entry is a named error or none at all, nothing hangs, and the next ring works") {
  for (const Result code : {cuda::abi::kUnknown, cuda::abi::kOutOfMemory, cuda::abi::kIllegalAddress}) {
    test::FakeCudaOptions options;
    options.copy_us = 20;
    FakeCuda fake(options);
    CHECK(in_child(fake, [&] { expect_every_fault_is_survived(fake, code); }) == "");
    std::vector<std::string> violations = fake.violations();
    std::erase_if(violations, follows_from_the_fault);
    CHECK(violations == kNone);
  }
}

TEST_CASE("an error that the driver can't recover from loses the rings of that GPU alone") {
  test::FakeCudaOptions options;
  options.devices = 2;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.staging_bytes_max = 4 * kMiB;
          Gpus gpus(settings);
          SlotMemories ring = make_ring(gpus, ring_of(3, 2 * kMiB));
          DeviceRing elsewhere = ring_of(1, 2 * kMiB);
          elsewhere.gpu = test::uuid_of(1);
          const SlotMemories sound = make_ring(gpus, elsewhere);
          EXPECT(fill(*ring[0], 1));

          EXPECT(test::begin(*ring[0]));
          EXPECT(test::begin(*ring[1]));
          test::Signal room, lost;
          const auto waiting = ring[2]->begin_fill([&] { room.raise(); });
          EXPECT(waiting && !*waiting);
          fake.inject("cuEventSynchronize", cuda::abi::kIllegalAddress);
          test::publish(*ring[0], [&](const Status& status) {
            EXPECT(!status && status.error().trouble == Trouble::kInternal);
            EXPECT(status.error().message.rfind("context-lost: GPU 0 (", 0) == 0);
            EXPECT(status.error().message.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
            EXPECT(status.error().message.find("attach again") != std::string::npos);
            lost.raise();
          });
          lost.wait(1);
          room.wait(1);
          EXPECT(ring[2]->trouble() && ring[2]->trouble()->message.rfind("context-lost: ", 0) == 0);
          const auto begun = ring[2]->begin_fill([] {});
          EXPECT(!begun && begun.error().message == ring[2]->trouble()->message);
          EXPECT(test::becomes_true([&] { return fake.calls("cuDevicePrimaryCtxReset") == 1; }));
          test::write_pattern(*ring[1], 1);  // who was filling goes on, into memory that is of no use
          test::publish(*ring[1], [&](const Status& status) {
            EXPECT(!status);
            lost.raise();
          });
          lost.wait(2);

          EXPECT(gpus.report().gpus[0].state == "failed");
          EXPECT(gpus.report().gpus[0].reason.rfind("context-lost: ", 0) == 0);
          EXPECT(gpus.report().gpus[1].state == "open");
          EXPECT(!sound[0]->trouble() && fill(*sound[0], 2));
          HostSlot host(kMiB, Access::kWritable);
          EXPECT(fill(host, 3));

          const SlotMemories next = make_ring(gpus, ring_of(3, 2 * kMiB));  // while the lost ones are still there
          EXPECT(fill(*next[0], 4));
          EXPECT(gpus.report().gpus[0].state == "open" && gpus.report().gpus[0].resets == 1);
          EXPECT(ring[0]->trouble() && !next[0]->trouble());
          ring.clear();
          EXPECT(fill(*next[1], 5));
          gpus.stop();
        }) == "");
  CHECK(fake.violations() == kNone);
  CHECK(is_clean(fake.live()));
}

TEST_CASE("a GPU that is closed in the moment in which it fails tells its jobs what its trouble is") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          const cuda::Device device = cuda::Driver::get().devices().at(0);
          for (int round = 0; round < 300; ++round) {
            const auto gpu = Gpu::open(device, 2 * kMiB, std::make_shared<Inbox>());
            Staging::User job(gpu->staging(), {2 * kMiB, 0});
            std::thread closer([&gpu] {
              while (!gpu->trouble()) std::this_thread::yield();
              gpu->close({Trouble::kStopping, "spdld is stopping"});
            });
            gpu->fail(cuda::abi::kIllegalAddress, "a test");
            closer.join();
            const auto taken = job.take(&job, [] {});
            EXPECT(!taken && taken.error().message.rfind("context-lost: ", 0) == 0);
          }
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a GPU that can't be opened afresh is given up, once, and its jobs are told to come again") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          std::vector<std::string> told;
          Gpus::Settings settings;
          settings.hopeless = [&](const std::string& why) { told.push_back(why); };
          Gpus gpus(settings);
          const SlotMemories ring = make_ring(gpus, ring_of(1, kMiB));
          fake.inject("cuEventSynchronize", cuda::abi::kExternalDevice);
          EXPECT(!fill(*ring[0], 1));
          EXPECT(test::becomes_true([&] { return gpus.report().gpus[0].state == "failed"; }));
          EXPECT(told.empty());
          for (int tries = 0; tries < 2; ++tries) {
            const Error error = test::error_of_ring(gpus, ring_of(1, kMiB));
            EXPECT(error.trouble == Trouble::kStopping);
            EXPECT(told.size() == 1 && told[0] == error.message);
          }
          EXPECT(told[0].find("CUDA_ERROR_EXTERNAL_DEVICE") != std::string::npos);
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a GPU that is only short of memory, or taken by another process, after its failure is no reason to end") {
  for (const auto code : {cuda::abi::kOutOfMemory, cuda::abi::kDeviceUnavailable}) {
    FakeCuda fake;
    CHECK(in_child(fake, [&] {
            Gpus::Settings settings;
            std::atomic<bool> is_told = false;
            settings.hopeless = [&](const std::string&) { is_told = true; };
            Gpus gpus(settings);
            const SlotMemories ring = make_ring(gpus, ring_of(1, kMiB));
            fake.inject("cuEventSynchronize", cuda::abi::kTensorMemoryLeak);
            EXPECT(!fill(*ring[0], 1));
            EXPECT(test::becomes_true([&] { return gpus.report().gpus[0].state == "failed"; }));
            fake.inject("cuDevicePrimaryCtxRetain", code);
            expect_named(test::error_of_ring(gpus, ring_of(1, kMiB)), "opening");
            EXPECT(fill(*make_ring(gpus, ring_of(1, kMiB))[0], 2));
            EXPECT(!is_told);
          }) == "");
    CHECK(fake.violations() == kNone);
  }
}

TEST_CASE("one copy that fails is that batch's error alone") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Gpus gpus({});
          const SlotMemories ring = make_ring(gpus, ring_of(2, 2 * kMiB));
          for (const char* entry : {"cuMemcpyHtoDAsync", "cuEventRecord"}) {
            fake.inject(entry, cuda::abi::kInvalidValue);
            const Status failed = fill(*ring[0], 1);
            EXPECT(!failed && failed.error().message.rfind("failed: a batch can't be copied to GPU 0", 0) == 0);
            EXPECT(!ring[0]->trouble());
            EXPECT(fill(*ring[0], 2));
          }
          // The copy itself went well, and another way tells.
          fake.inject("cuEventSynchronize", cuda::abi::kInvalidValue, 1, true);
          EXPECT(fill(*ring[1], 3));
          // Nothing tells: what the GPU does is not known any more.
          fake.inject("cuStreamSynchronize", cuda::abi::kInvalidValue);
          const Status lost = fill(*ring[1], 4);
          EXPECT(!lost && lost.error().message.rfind("context-lost: ", 0) == 0);
        }) == "");
  CHECK(fake.violations() == kNone);
}

}  // namespace
}  // namespace spdld::memory::faults_test
