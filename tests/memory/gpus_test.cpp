#include "daemon/memory/cuda/gpus.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/base/system/cpu.h"
#include "daemon/memory/cuda/numa.h"
#include "proto/cuda/driver.h"
#include "tests/memory/gpus_fixture.h"
#include "tests/support/temp_dir.h"

namespace spdld::memory::gpus_test {
namespace {

using test::error_of_ring;
using test::FakeCuda;
using test::FakeCudaOptions;
using test::fill;
using test::in_child;
using test::is_clean;
using test::kMiB;
using test::make_ring;
using test::ring_of;

const std::vector<std::string> kNone;

bool says(const Error& error, Trouble trouble, const std::string& begin, const std::vector<std::string>& parts = {}) {
  bool is_all = error.trouble == trouble && error.message.rfind(begin, 0) == 0;
  for (const std::string& part : parts) is_all = is_all && error.message.find(part) != std::string::npos;
  return is_all;
}

TEST_CASE("without a GPU, or where GPUs are turned off, a ring gets a named error") {
  FakeCudaOptions options;
  options.devices = 0;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          Gpus gpus({});
          EXPECT(says(error_of_ring(gpus, {}), Trouble::kUnsupported, "no-gpu: ", {"device = \"cpu\""}));
          const GpusReport report = gpus.report();
          EXPECT(report.driver.empty() && report.gpus.empty());
          EXPECT(report.reason.rfind("no-gpu: ", 0) == 0);
        }) == "");
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.enabled = false;
          Gpus gpus(settings);
          EXPECT(says(error_of_ring(gpus, {}), Trouble::kUnsupported, "unsupported: ", {"gpu.enabled"}));
          EXPECT(gpus.report().reason.find("gpu.enabled") != std::string::npos);
          EXPECT(fake.calls("cuInit") == 1);  // the case before
        }) == "");
}

TEST_CASE("a GPU that spdld does not see") {
  FakeCudaOptions options;
  options.devices = 2;
  FakeCuda fake(options);
  CHECK(in_child(fake, [] {
          Gpus gpus({});
          DeviceRing ring = ring_of(1, kMiB);
          ring.gpu[15] = 0x77;
          const std::string own = cuda::to_text(cuda::Driver::get().devices()[1].uuid);
          EXPECT(says(error_of_ring(gpus, ring), Trouble::kUnsupported, "gpu-not-visible: the trainer's GPU GPU-",
                      {"77 is not among", own}));
          EXPECT(gpus.report().driver == "12.4");
          EXPECT(gpus.report().gpus.size() == 2);
          EXPECT(gpus.report().gpus[1].uuid == own);
          EXPECT(gpus.report().gpus[1].state == "closed");
        }) == "");
}

TEST_CASE("a slice of a GPU, and a GPU of another process alone") {
  FakeCudaOptions options;
  options.mig = true;
  FakeCuda slices(options);
  CHECK(in_child(slices, [] {
          Gpus gpus({});
          for (const Transport transport : {Transport::kAuto, Transport::kHandle}) {
            const Error error = error_of_ring(gpus, ring_of(1, kMiB, transport));
            EXPECT(says(error, Trouble::kUnsupported, "mig: ", {"GPU 0", "CUDA_ERROR_NOT_SUPPORTED", "whole GPU"}));
            EXPECT(gpus.report().gpus[0].reason == error.message);
          }
          EXPECT(gpus.report().gpus[0].uuid.rfind("MIG-", 0) == 0);
        }) == "");
  CHECK(is_clean(slices.live()));
  CHECK(slices.violations() == kNone);
  options = {};
  options.exclusive_process = true;
  FakeCuda exclusive(options);
  CHECK(in_child(exclusive, [] {
          Gpus gpus({});
          EXPECT(says(error_of_ring(gpus, ring_of(1, kMiB)), Trouble::kUnsupported, "exclusive-process: "));
          EXPECT(gpus.report().gpus[0].state == "closed");
        }) == "");
}

TEST_CASE("a slice of a GPU is tried, by each transport") {
  using Shares = FakeCudaOptions::MigShares;
  for (const auto& [shares, kind] :
       {std::pair(Shares::kAll, MemoryKind::kCudaVmm), {Shares::kHandles, MemoryKind::kCudaIpc}}) {
    FakeCudaOptions options;
    options.mig = true;
    options.mig_shares = shares;
    FakeCuda fake(options);
    CHECK(in_child(fake, [wanted = kind] {
            Gpus gpus({});
            const SlotMemories ring = make_ring(gpus, ring_of(2, kMiB));
            EXPECT(ring[0]->kind() == wanted);
            EXPECT(fill(*ring[0], 1));
            EXPECT(ring[0]->gpu() == gpus.report().gpus[0].uuid && ring[0]->gpu().rfind("MIG-", 0) == 0);
            EXPECT(error_of_ring(gpus, ring_of(1, kMiB, Transport::kFd)).message.empty() ==
                   (wanted == MemoryKind::kCudaVmm));
          }) == "");
    CHECK(fake.violations() == kNone);
    CHECK(is_clean(fake.live()));
  }
}

TEST_CASE("a driver that does not start when spdld does is tried again when somebody asks for a GPU") {
  for (const auto code : {cuda::abi::kUnknown, cuda::abi::kNoDevice}) {
    FakeCuda fake;
    fake.inject("cuInit", code);
    const test::Links links;
    test::Child trainer(fake, [&] {
      links.one.receive();
      fake.clear_faults();
      links.one.send_value(test::uuid_of(0));
    });
    CHECK(in_child(fake, [&] {
            Gpus gpus({});
            const std::string name = code == cuda::abi::kNoDevice ? "no-gpu: " : "no-driver: ";
            EXPECT(says(error_of_ring(gpus, {}), Trouble::kUnsupported, name));
            EXPECT(gpus.report().gpus.empty() && gpus.report().reason.rfind(name, 0) == 0);
            links.other.send_value(true);
            DeviceRing ring;
            ring.gpu = links.other.receive_value<GpuUuid>();
            ring.slots = 1, ring.slot_bytes = kMiB;
            EXPECT(test::becomes_true([&] { return bool(test::try_ring(gpus, ring)); }));
            EXPECT(gpus.report().gpus.size() == 1 && gpus.report().reason.empty());
          }) == "");
    CHECK(trainer.outcome() == "");
    CHECK(fake.violations() == kNone);
  }
}

// The policy of the memory at `address`: its mode, and the nodes of its mask.
std::pair<int, unsigned long> policy_of(const void* address) {
  int mode = -1;
  std::array<unsigned long, 16> nodes = {};
  const long done = syscall(SYS_get_mempolicy, &mode, nodes.data(), 8 * sizeof nodes, address, MPOL_F_ADDR);
  if (done != 0) throw std::runtime_error("get_mempolicy fails");
  return {mode, nodes[0]};
}

TEST_CASE("staging memory lies on the GPU's NUMA node, where the system tells it") {
  const test::TempDir sysfs;
  const auto device = sysfs.path() / "bus/pci/devices/0000:11:00.0";  // the second GPU's
  std::filesystem::create_directories(device);
  std::ofstream(device / "numa_node") << "0\n";
  FakeCudaOptions options;
  options.devices = 2;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&] {
          Gpus::Settings settings;
          settings.sysfs = sysfs.path();
          Gpus gpus(settings);
          for (const size_t number : {0, 1}) {
            DeviceRing wanted = ring_of(1, kMiB);
            wanted.gpu = test::uuid_of(number);
            const SlotMemories ring = make_ring(gpus, wanted);
            EXPECT(test::begin(*ring[0]));
            const auto [mode, nodes] = policy_of(ring[0]->fill_address());
            EXPECT(mode == (number == 1 ? MPOL_PREFERRED : MPOL_DEFAULT));
            EXPECT(nodes == number);  // node 0 is bit 0
            ring[0]->abandon();
          }
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("the NUMA node of a GPU is not known where the system does not tell it") {
  const test::TempDir sysfs;
  const auto device = sysfs.path() / "bus/pci/devices/0000:1b:00.0";
  std::filesystem::create_directories(device);
  CHECK(numa_node_of(sysfs.path(), "0000:1b:00.0") == -1);
  std::ofstream(device / "numa_node") << "-1\n";
  CHECK(numa_node_of(sysfs.path(), "0000:1b:00.0") == -1);
  std::ofstream(device / "numa_node") << "3\n";
  CHECK(numa_node_of(sysfs.path(), "0000:1b:00.0") == 3);
  CHECK(numa_node_of(sysfs.path(), "") == -1);
}

TEST_CASE("memory for the fd transport is made for access by other devices, where the GPU can") {
  for (const bool rdma : {true, false}) {
    FakeCudaOptions options;
    options.rdma = rdma;
    FakeCuda fake(options);
    CHECK(in_child(fake, [rdma] {
            Gpus gpus({});
            EXPECT(cuda::Driver::get().devices()[0].allows_rdma == rdma);
            EXPECT(make_ring(gpus, ring_of(1, kMiB))[0]->kind() == MemoryKind::kCudaVmm);
          }) == "");
    CHECK(fake.violations() == kNone);
    CHECK(fake.rdma_allocations() == (rdma ? 1 : 0));
  }
}

TEST_CASE("the transport is the best that both sides can, or the one asked for") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          Gpus gpus({});
          DeviceRing ring = ring_of(1, kMiB);
          EXPECT(make_ring(gpus, ring)[0]->kind() == MemoryKind::kCudaVmm);
          ring.transport = Transport::kHandle;
          EXPECT(make_ring(gpus, ring)[0]->kind() == MemoryKind::kCudaIpc);
          ring.client_shares_fds = false;
          ring.transport = Transport::kAuto;
          EXPECT(make_ring(gpus, ring)[0]->kind() == MemoryKind::kCudaIpc);
          ring.transport = Transport::kFd;
          EXPECT(says(error_of_ring(gpus, ring), Trouble::kUnsupported, "unsupported: ", {"the trainer's side"}));
        }) == "");
  FakeCudaOptions options;
  options.shares_fds = false;
  FakeCuda without(options);
  CHECK(in_child(without, [] {
          Gpus gpus({});
          EXPECT(make_ring(gpus, ring_of(1, kMiB))[0]->kind() == MemoryKind::kCudaIpc);
          EXPECT(says(error_of_ring(gpus, ring_of(1, kMiB, Transport::kFd)), Trouble::kUnsupported,
                      "unsupported: ", {"the daemon's side (GPU 0 ("}));
        }) == "");
}

TEST_CASE("a ring is kept within bounds, and is made whole or not at all") {
  FakeCudaOptions options;
  options.device_bytes = 256 * kMiB;
  FakeCuda fake(options);
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.slot_bytes_max = 16 * kMiB;
          settings.staging_bytes_max = 8 * kMiB;
          Gpus gpus(settings);
          EXPECT(says(error_of_ring(gpus, ring_of(1, 9 * kMiB)), Trouble::kLimit, "a slot of 9 MiB",
                      {"gpu.staging_bytes_max", "batch.size"}));
          EXPECT(says(error_of_ring(gpus, ring_of(1, ~uint64_t{0})), Trouble::kLimit, "a slot of "));
          const SlotMemories ring = make_ring(gpus, ring_of(3, 3 * kMiB));
          EXPECT(ring[0]->bytes() == 3 * kMiB && ring[0]->shared().bytes == 4 * kMiB);
          EXPECT(says(error_of_ring(gpus, ring_of(3, 2 * kMiB)), Trouble::kLimit, "GPU 0 (",
                      {"12 MiB of at most 16 MiB", "gpu.slot_bytes_max", "3 slots", "prefetch_depth"}));
          EXPECT(says(error_of_ring(gpus, ring_of(~size_t{0}, 2 * kMiB)), Trouble::kLimit, "GPU 0 ("));
          const auto before = fake.live(getpid());
          fake.inject("cuMemCreate", cuda::abi::kOutOfMemory, 2);
          EXPECT(says(error_of_ring(gpus, ring_of(2, 2 * kMiB)), Trouble::kLimit, "out-of-memory: "));
          EXPECT(test::becomes_true([&] { return fake.live(getpid()).allocations == before.allocations; }));
          EXPECT(make_ring(gpus, ring_of(2, 2 * kMiB)).size() == 2);
        }) == "");
  CHECK(is_clean(fake.live()));
}

TEST_CASE("a slot may be as large as all memory for copies, and slots may take all memory for them") {
  FakeCuda fake;
  CHECK(in_child(fake, [] {
          Gpus::Settings settings;
          settings.slot_bytes_max = 16 * kMiB;
          settings.staging_bytes_max = 8 * kMiB;
          Gpus gpus(settings);
          const SlotMemories ring = make_ring(gpus, ring_of(2, 8 * kMiB));
          EXPECT(ring.size() == 2);
          EXPECT(fill(*ring[0], 1));
          EXPECT(says(error_of_ring(gpus, ring_of(1, 1)), Trouble::kLimit, "GPU 0 (", {"16 MiB of at most 16 MiB"}));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a GPU whose free memory can't be told has none, until it can") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Gpus gpus({});
          const SlotMemories ring = make_ring(gpus, ring_of(1, 2 * kMiB));
          const auto free_bytes = [&] { return gpus.report().gpus[0].free_bytes; };
          EXPECT(test::becomes_true([&] { return free_bytes() > 0; }));
          fake.inject("cuMemGetInfo", cuda::abi::kOutOfMemory, 1, true);
          EXPECT(test::becomes_true([&] { return free_bytes() == 0; }));
          EXPECT(gpus.report().gpus[0].state == "open");
          fake.clear_faults();
          EXPECT(test::becomes_true([&] { return free_bytes() > 0; }));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("a GPU is open while it has slots, and a while after") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          Gpus::Settings settings;
          settings.idle_ms = 0;
          Gpus gpus(settings);
          for (int round = 0; round < 3; ++round) {
            const uint64_t begin_ns = monotonic_ns();
            SlotMemories ring = make_ring(gpus, ring_of(2, 3 * kMiB));
            EXPECT(fill(*ring[0], 1));
            EXPECT(test::becomes_true([&] {  // what is free is looked at after a report, and told by the next
              const GpuReport free = gpus.report().gpus[0];
              return free.free_bytes + 64 * kMiB + 8 * kMiB == free.total_bytes;
            }));
            const GpuReport report = gpus.report().gpus[0];
            EXPECT(report.state == "open" && report.resets == 0);
            EXPECT(report.context_bytes == 64 * kMiB);
            EXPECT(report.slots == 2 && report.slot_bytes == 8 * kMiB);
            EXPECT(report.staging_bytes == 4 * kMiB && report.staging_used_bytes == 0);
            EXPECT(report.copies == 1 && report.copied_bytes == 3 * kMiB);
            EXPECT(report.copy_busy_ns >= 200'000 && report.copy_busy_ns < monotonic_ns() - begin_ns);
            ring.clear();
            EXPECT(test::becomes_true([&] { return is_clean(fake.live(getpid())); }));
            EXPECT(test::becomes_true([&] { return gpus.report().gpus[0].state == "closed"; }));
          }
        }) == "");
  CHECK(in_child(fake, [&fake] {
          Gpus gpus({});
          make_ring(gpus, ring_of(2, 3 * kMiB)).clear();
          EXPECT(test::becomes_true([&] { return gpus.report().gpus[0].slots == 0; }));
          EXPECT(gpus.report().gpus[0].state == "open");
          EXPECT(fake.live(getpid()).contexts == 1);
          gpus.stop();
          EXPECT(is_clean(fake.live(getpid())));
        }) == "");
  CHECK(fake.violations() == kNone);
}

TEST_CASE("after stop all is answered, and slots may still be destroyed") {
  FakeCuda fake;
  CHECK(in_child(fake, [&fake] {
          SlotMemories ring;
          test::Signal answered;
          {
            Gpus gpus({});
            ring = make_ring(gpus, ring_of(3, 2 * kMiB));
            EXPECT(test::begin(*ring[0]));
            EXPECT(test::begin(*ring[1]));
            test::publish(*ring[0], [&](const Status& status) {
              EXPECT(status || status.error().trouble == Trouble::kStopping);
              answered.raise();
            });
            for (int i = 0; i < 100; ++i)  // more than may wait
              gpus.make_slots(ring_of(1, kMiB), [&](Result<SlotMemories> made) {
                EXPECT(made || made.error().trouble == Trouble::kStopping || made.error().trouble == Trouble::kLimit);
                answered.raise();
              });
            gpus.stop();
            EXPECT(answered.count() == 101);
            EXPECT(error_of_ring(gpus, ring_of(1, kMiB)).trouble == Trouble::kStopping);
            const Result<bool> begun = ring[2]->begin_fill([] {});
            EXPECT(!begun && begun.error().trouble == Trouble::kStopping);
            EXPECT(gpus.report().gpus[0].state == "closed");
          }
          test::write_pattern(*ring[1], 1);
          test::publish(*ring[1], [&](const Status& status) {
            EXPECT(!status && status.error().trouble == Trouble::kStopping);
            answered.raise();
          });
          EXPECT(answered.count() == 102);
          ring.clear();
          EXPECT(is_clean(fake.live(getpid())));
        }) == "");
  CHECK(fake.violations() == kNone);
}

}  // namespace
}  // namespace spdld::memory::gpus_test
