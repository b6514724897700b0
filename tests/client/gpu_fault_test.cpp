// What goes wrong with GPU batches: each by its name, with what to do, and never a silent fall-back to host memory.
#include <dlfcn.h>
#include <sys/stat.h>

#include "client/src/gpu/gpu_fault.h"
#include "tests/client/gpu_session.h"

namespace spdld::gpu_fault_test {

using namespace spdld;
using namespace spdld::test;

namespace {

using proto::MemoryKind;

constexpr int kIllegalAddress = 700;

// The result of an attach in a trainer, whose error holds these words.
bool attach_gives(const Bench& bench, spdld_result wanted, const std::string& words,
                  const std::function<void(spdld_attach_options&)>& change = {}) {
  return runs_well(bench.cuda, [&](const Loaded&) {
    spdld_attach_options options = bench.options();
    if (change) change(options);
    spdld_loader* loader = nullptr;
    RESULT(wanted, spdld_attach(&options, &loader));
    spdld_detach(loader);
    MUST(loader == nullptr);
    must(error_says(words), "\"" + words + "\" is not in: " + spdld_last_error());
    bench.must_own_nothing();
  });
}

uint64_t own_namespace(const char* path) {
  struct stat status = {};
  return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

// A GPU and slots that the daemon makes up, with nothing wrong to see.
void make_up(FakeDevice& device, const proto::Attach& attach) {
  if (attach.gpus()) {
    const auto& uuid = *attach.gpus()->Get(0)->uuid();
    device.gpu.assign(uuid.begin(), uuid.end());
  }
  for (int i = 0; i < 3; ++i) device.slots.push_back({2u << 20, std::vector<uint8_t>(64, 1), 0, {}});
  device.ipc_namespace = own_namespace("/proc/self/ns/ipc");
  device.pid_namespace = own_namespace("/proc/self/ns/pid");
}

FakeScript making_up(MemoryKind kind, const std::function<void(FakeDevice&)>& tamper) {
  FakeScript script = script_of(kind);
  script.tamper_device = [tamper](FakeDevice& device, const proto::Attach& attach) {
    make_up(device, attach);
    if (tamper) tamper(device);
  };
  return script;
}

bool has_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) ::dlclose(library);
  return library != nullptr;
}

}  // namespace

TEST_CASE("a GPU that is demanded and cannot be had is refused before anything is sent") {
  struct Case {
    FakeCudaOptions options;
    const char* device;
    spdld_result result;
    const char* words;
  };
  FakeCudaOptions none, old;
  none.devices = 0;
  old.old_driver = true;
  const Case cases[] = {{none, "cuda", SPDLD_UNSUPPORTED, "no-gpu: "},
                        {none, "cuda:0", SPDLD_UNSUPPORTED, "no-gpu: "},
                        {none, "pinned", SPDLD_UNSUPPORTED, "no-gpu: "},
                        {old, "cuda", SPDLD_UNSUPPORTED, "driver-too-old: "},
                        {{.devices = 2}, "cuda:2", SPDLD_UNSUPPORTED, "gpu-not-visible: GPU 2"},
                        {{.devices = 2}, "cuda", SPDLD_UNSUPPORTED, "gpu-not-visible: the GPU of local_rank 2"},
                        {{.devices = 2}, "pinned", SPDLD_UNSUPPORTED, "gpu-not-visible: the GPU of local_rank 2"},
                        {{}, "cuda:", SPDLD_INVALID, "device"},
                        {{}, "cuda:x", SPDLD_INVALID, "device"},
                        {{}, "cuda:-1", SPDLD_INVALID, "device"},
                        {{}, "cuda:99999", SPDLD_INVALID, "device"},
                        {{}, "gpu", SPDLD_INVALID, "device"}};
  for (const Case& one : cases) {
    INFO(one.device << ", " << one.words);
    Bench bench(FakeScript{}, one.options);
    CHECK(attach_gives(bench, one.result, one.words, [&](spdld_attach_options& options) {
      options.device = one.device;
      options.local_rank = 2;
    }));
    CHECK(bench.daemon.counts().hellos == 0);
  }
  Bench bench(FakeScript{});
  CHECK(attach_gives(bench, SPDLD_INVALID, "transport",
                     [](spdld_attach_options& options) { options.transport = "ipc"; }));
}

TEST_CASE("where no GPU is demanded, none is told of and the batches lie in host memory") {
  FakeCudaOptions none, old;
  none.devices = 0;
  old.old_driver = true;
  for (const FakeCudaOptions& options : {none, old}) {
    for (const char* device : {"auto", static_cast<const char*>(nullptr)}) {
      Bench bench(FakeScript{}, options);
      CHECK(runs_well(bench.cuda, [&](const Loaded&) {
        spdld_attach_options asked = bench.options();
        asked.device = device;
        const Loader loader = attach_in_child(asked);
        MUST(is_intact(next_in_child(loader).get()));
        MUST(bench.daemon.counts().gpus == 0);
      }));
    }
  }
}

TEST_CASE("no driver is a name, too") {
  if (has_driver()) {
    WARN("not tried: this machine has a driver");
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    spdld_attach_options options = options_for("/nowhere");
    options.device = "cuda";
    spdld_loader* loader = nullptr;
    ::_exit(spdld_attach(&options, &loader) == SPDLD_UNSUPPORTED && error_says("no-driver: ") ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("memory that cannot be opened is explained by what is known of its maker") {
  const uint64_t ipc = own_namespace("/proc/self/ns/ipc");
  struct Case {
    MemoryKind kind;
    FakeCudaOptions options;
    const char* entry;  // that fails in the trainer with `code`; nullptr: made-up handles fail by themselves
    int code;
    std::function<void(FakeDevice&)> tamper;
    spdld_result result;
    const char* words;
  };
  const auto other_ipc = [ipc](FakeDevice& device) { device.ipc_namespace = ipc + 1; };
  const auto other_pid = [](FakeDevice& device) { device.pid_namespace = 1; };
  const auto unknown = [](FakeDevice& device) { device.gpu[3] ^= 1; };
  FakeCudaOptions mig, exclusive;
  mig.mig = true;
  exclusive.exclusive_process = true;
  const Case cases[] = {
      {MemoryKind::cuda_ipc, {}, nullptr, 0, other_ipc, SPDLD_UNSUPPORTED, "other-namespace: "},
      {MemoryKind::cuda_ipc, {}, nullptr, 0, other_pid, SPDLD_UNSUPPORTED, "other-namespace: "},
      {MemoryKind::cuda_ipc, {}, nullptr, 0, {}, SPDLD_UNSUPPORTED, "transport = \"fd\""},
      {MemoryKind::cuda_ipc, mig, nullptr, 0, {}, SPDLD_UNSUPPORTED, "mig: "},
      {MemoryKind::cuda_ipc, {}, nullptr, 0, unknown, SPDLD_UNSUPPORTED, "gpu-not-visible: "},
      {MemoryKind::cuda_ipc, {}, "cuIpcOpenMemHandle", 201, {}, SPDLD_UNSUPPORTED, "same-process: "},
      {MemoryKind::cuda_ipc, {}, "cuIpcOpenMemHandle", 2, {}, SPDLD_LIMIT, "out-of-memory: "},
      {MemoryKind::cuda_ipc, {}, "cuIpcOpenMemHandle", 999, other_ipc, SPDLD_UNSUPPORTED, "other-namespace: "},
      {MemoryKind::cuda_ipc, {}, "cuIpcOpenMemHandle", 36, other_ipc, SPDLD_UNSUPPORTED, "driver-too-old: "},
      {MemoryKind::cuda_ipc, {}, "cuIpcOpenMemHandle", 999, {}, SPDLD_UNSUPPORTED, "failed: "},
      {MemoryKind::cuda_vmm, {}, nullptr, 0, other_ipc, SPDLD_UNSUPPORTED, "transport = \"handle\""},
      {MemoryKind::cuda_vmm, {}, "cuMemImportFromShareableHandle", 2, {}, SPDLD_LIMIT, "out-of-memory: "},
      {MemoryKind::cuda_vmm, {}, "cuDevicePrimaryCtxRetain", 46, {}, SPDLD_UNSUPPORTED, "exclusive-process: "},
      {MemoryKind::cuda_vmm, exclusive, nullptr, 0, {}, SPDLD_UNSUPPORTED, "exclusive-process: "},
  };
  for (const Case& one : cases) {
    INFO(one.words << " " << one.code);
    Bench bench(making_up(one.kind, one.tamper), one.options);
    if (one.entry) bench.cuda.inject(one.entry, one.code, 1, true);
    CHECK(attach_gives(bench, one.result, one.words));
    CHECK(bench.daemon.counts().attaches == 1);
  }
}

TEST_CASE("pinning that fails is named") {
  Bench bench(script_of(MemoryKind::pinned));
  bench.cuda.inject("cuMemHostRegister", 2, 2, true);
  CHECK(attach_gives(bench, SPDLD_LIMIT, "out-of-memory: "));
  FakeScript several = script_of(MemoryKind::pinned);
  several.access = proto::Access::copy_on_write;
  Bench readers(several);
  CHECK(attach_gives(readers, SPDLD_UNSUPPORTED, "several readers"));
  FakeCudaOptions none;
  none.devices = 0;
  Bench without(script_of(MemoryKind::pinned), none);
  CHECK(attach_gives(without, SPDLD_UNSUPPORTED, "no-gpu: "));
}

TEST_CASE("evidence that no test can make: another user, and the daemon's own process") {
  Bench bench(FakeScript{});
  CHECK(runs_well(bench.cuda, [&](const Loaded&) {
    const cuda::Driver& driver = cuda::Driver::get();
    const cuda::Fault vague(cuda::Cause::kFailed, "it failed", abi::kUnknown);
    client::ImportEvidence evidence = {true, false, 1, ::geteuid() + 1, 0, 0};
    MUST(client::explain_import(driver, vague, evidence).text.find("other-user: ") == 0);
    evidence.by_handle = false;
    MUST(client::explain_import(driver, vague, evidence).text.find("failed: ") == 0);
    evidence.daemon_pid = ::getpid();
    const client::CallOutcome outcome = client::explain_import(driver, vague, evidence);
    MUST(outcome.text.find("same-process: ") == 0 && outcome.result == SPDLD_UNSUPPORTED);
    evidence = {true, true, 1, ::geteuid(), 0, 0};
    MUST(client::explain_import(driver, vague, evidence).text.find("mig: ") == 0);
  }));
}

TEST_CASE("an ATTACHED that could break this process is refused") {
  struct Hostile {
    const char* what;
    std::function<void(FakeDevice&)> tamper;
  };
  const Hostile hostile[] = {
      {"no slots", [](FakeDevice& device) { device.slots.clear(); }},
      {"a slot too few", [](FakeDevice& device) { device.slots.pop_back(); }},
      {"a slot too many", [](FakeDevice& device) { device.slots.push_back(device.slots[0]); }},
      {"tiny", [](FakeDevice& device) { device.slots[1].bytes = 4095; }},
      {"huge", [](FakeDevice& device) { device.slots[1].bytes = ~0ull; }},
      {"a size that rounds to nothing", [](FakeDevice& device) { device.slots[1].bytes = 0ull - (1u << 20); }},
      {"a short handle", [](FakeDevice& device) { device.slots[2].memory.resize(63); }},
      {"a long handle", [](FakeDevice& device) { device.slots[2].memory.resize(65); }},
      {"no handle", [](FakeDevice& device) { device.slots[2].memory.clear(); }},
      {"an odd offset", [](FakeDevice& device) { device.slots[0].offset = 64; }},
      {"an offset that wraps", [](FakeDevice& device) { device.slots[0].offset = 0ull - 128; }},
      {"early without events", [](FakeDevice& device) { device.ready_early = true; }},
      {"a short event",
       [](FakeDevice& device) {
         device.ready_early = true;
         for (FakeDeviceSlot& slot : device.slots) slot.copied.resize(32);
       }},
      {"no GPU", [](FakeDevice& device) { device.gpu.clear(); }},
      {"half a GPU", [](FakeDevice& device) { device.gpu.resize(8); }},
  };
  for (const Hostile& one : hostile) {
    INFO(one.what);
    Bench bench(making_up(MemoryKind::cuda_ipc, one.tamper));
    CHECK(attach_gives(bench, SPDLD_INTERNAL, "broke the protocol", [](spdld_attach_options& options) {
      options.transport = "handle";
      options.experimental_ready_early = 1;
    }));
    CHECK(bench.cuda.calls("cuIpcOpenMemHandle") == 0);
  }
  const auto events = [](FakeDevice& device) {
    device.ready_early = true;
    for (FakeDeviceSlot& slot : device.slots) slot.copied.resize(64);
  };
  Bench early(making_up(MemoryKind::cuda_ipc, events));
  CHECK(attach_gives(early, SPDLD_INTERNAL, "nobody asked for"));
  Bench early_fds(making_up(MemoryKind::cuda_vmm, events));  // no event goes with file descriptors
  CHECK(attach_gives(early_fds, SPDLD_INTERNAL, "nobody asked for", [](spdld_attach_options& options) {
    options.transport = "handle";
    options.experimental_ready_early = 1;
  }));
  FakeScript short_of_fds = making_up(MemoryKind::cuda_vmm, {});
  short_of_fds.forgets_a_slot = true;
  Bench fds(short_of_fds);
  CHECK(attach_gives(fds, SPDLD_INTERNAL, "one descriptor a slot"));
  Bench unwanted(making_up(MemoryKind::cuda_ipc, {}));
  CHECK(attach_gives(unwanted, SPDLD_INTERNAL, "broke the protocol",
                     [](spdld_attach_options& options) { options.device = "cpu"; }));
  Bench unknown(making_up(static_cast<MemoryKind>(9), {}));
  CHECK(attach_gives(unknown, SPDLD_UNSUPPORTED, "newer libspdld"));
}

namespace {

// A short run in which every call may fail. Each error has a sentence.
void run_with_faults(const Bench& bench, const Loaded& driver, bool early) {
  const auto told = [](spdld_result result) {
    MUST(result >= 0 || !std::string(spdld_last_error()).empty());
    return result == SPDLD_OK;
  };
  spdld_attach_options options = bench.options();
  if (early) options.transport = "handle";
  options.experimental_ready_early = early ? 1 : 0;
  spdld_loader* raw = nullptr;
  if (!told(spdld_attach(&options, &raw))) return;
  Loader loader(raw);
  abi::Stream stream = nullptr;  // where none can be made: the default one
  driver.cuStreamCreate(&stream, abi::kStreamNonBlocking);
  Batch kept;
  for (int i = 0; i < 5; ++i) {
    spdld_batch* got = nullptr;
    if (!told(spdld_next(loader.get(), 5000, &got))) break;
    Batch batch(got);
    const bool used = told(spdld_batch_use(got, stream));
    if (told(spdld_batch_wait(got)) && used) MUST(is_intact(got));
    if (i == 2) kept = std::move(batch);
  }
  loader.reset();
  kept.reset();
  if (stream) driver.cuStreamDestroy(stream);
}

// Where such a call fails, or the context is lost, what was lent cannot be given back.
bool gives_back(std::string_view entry) {
  for (const char* part : {"Destroy", "Close", "Unmap", "Release", "Unregister", "AddressFree", "Current"}) {
    if (entry.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// How often the fault struck.
uint64_t try_fault(MemoryKind kind, std::string_view entry, int code, uint64_t nth) {
  INFO(entry << " fails with " << code << " from call " << nth << " on, memory " << static_cast<int>(kind));
  FakeScript script = script_of(kind);
  script.epochs = 1;
  Bench bench(script, {.copy_us = 20});
  const bool returns_all = code != kIllegalAddress && !gives_back(entry);
  const Stopwatch stopwatch;
  CHECK(runs_well(bench.cuda, [&](const Loaded& driver) {
    abi::Context context = driver.start();
    bench.cuda.inject(entry, code, nth, true, ::getpid());
    run_with_faults(bench, driver, kind == MemoryKind::cuda_ipc);
    bench.cuda.clear_faults();
    driver.cuCtxPopCurrent(&context);
    driver.cuDevicePrimaryCtxRelease(0);
    if (returns_all) bench.must_own_nothing();
  }));
  CHECK(stopwatch.ms() < 9000);
  for (const std::string& breach : bench.cuda.violations()) {
    INFO(breach);
    CHECK((!returns_all && breach.find("freed while") != std::string::npos));
  }
  return bench.cuda.struck();
}

}  // namespace

TEST_CASE("every entry of the driver may fail: a sentence, no hang, nothing left, no rule broken") {
#define SPDLD_NAME(symbol, version, parameters) #symbol,
  const std::string_view entries[] = {SPDLD_CUDA_ENTRIES(SPDLD_NAME)};
#undef SPDLD_NAME
  for (const MemoryKind kind : kGpuKinds) {
    size_t called = 0;
    for (const std::string_view entry : entries) {
      if (try_fault(kind, entry, abi::kUnknown, 1) == 0) continue;  // not one that a trainer calls
      ++called;
      try_fault(kind, entry, abi::kUnknown, 3);
      try_fault(kind, entry, abi::kOutOfMemory, 2);
      try_fault(kind, entry, kIllegalAddress, 1);
      try_fault(kind, entry, kIllegalAddress, 3);
    }
    CHECK(called > 20);
  }
}

TEST_CASE("a slot whose way back fails stays leased, and the next call says why") {
  for (const char* entry : {"cuStreamIsCapturing", "cuEventRecord", "cuStreamWaitEvent", "cuLaunchHostFunc"}) {
    INFO(entry);
    Bench bench(script_of(MemoryKind::cuda_vmm));
    CHECK(bench.trains([&](const Loaded&) {
      const Loader loader = attach_in_child(bench.options());
      next_in_child(loader).reset();
      MUST(bench.daemon.wait_until([](const GpuCounts& counts) { return counts.releases == 1; }));
      Batch batch = next_in_child(loader);
      bench.cuda.inject(entry, abi::kUnknown, 1, true, ::getpid());
      batch.reset();
      RESULT(SPDLD_FAILED, next_result(loader, -1));
      MUST(error_says("failed: the GPU's work") && error_says("CUDA_ERROR_UNKNOWN"));
      MUST(bench.daemon.counts().releases == 1);
      bench.cuda.clear_faults();
    }));
    CHECK(bench.breaches() == "");
  }
}

}  // namespace spdld::gpu_fault_test
