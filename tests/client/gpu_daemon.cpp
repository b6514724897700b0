#include "tests/client/gpu_daemon.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <stdexcept>
#include <utility>

#include "proto/cuda/objects.h"

namespace spdld::test {

namespace {

// Made as the real daemon makes them: staging that is registered, one copy stream, an event a slot.
class ExportedSlots final : public FakeSlots {
 public:
  ExportedSlots(const FakeScript& script, const proto::Attach& attach)
      : early_(attach.ready_early()),
        context_(cuda::Context::retain(cuda::Driver::get().devices().at(0))),
        stream_(context_) {
    for (uint32_t i = 0; i < script.slot_count; ++i) {
      Slot& slot = slots_.emplace_back();
      slot.staging.resize(cuda::round_up(script.slot_bytes));
      slot.registered = std::make_unique<cuda::RegisteredHost>(context_, slot.staging.data(), slot.staging.size());
      slot.copied = std::make_unique<cuda::Event>(context_, cuda::Event::Reach::kInterprocess);
      if (script.memory == proto::MemoryKind::cuda_ipc) {
        auto memory = std::make_unique<cuda::HandleMemory>(context_, script.slot_bytes);
        slot.shared = memory->share();
        slot.memory = std::move(memory);
      } else {
        auto memory = std::make_unique<cuda::FdMemory>(context_, script.slot_bytes);
        slot.fd = memory->share();
        slot.memory = std::move(memory);
      }
    }
  }

  void describe(FakeDevice& device) override {
    const auto& uuid = context_->device().uuid.bytes;
    device.gpu.assign(uuid.begin(), uuid.end());
    device.ready_early = early_;
    for (const Slot& slot : slots_) {
      const cuda::abi::IpcEventHandle event = slot.copied->share();
      FakeDeviceSlot& described = device.slots.emplace_back();
      described.bytes = slot.memory->bytes();
      described.offset = slot.shared.offset;
      if (!slot.fd) described.memory.assign(slot.shared.handle.reserved.begin(), slot.shared.handle.reserved.end());
      if (early_) described.copied.assign(event.reserved.begin(), event.reserved.end());
    }
  }
  std::vector<int> fds() const override {
    std::vector<int> fds;
    for (const Slot& slot : slots_) {
      if (slot.fd) fds.push_back(slot.fd.get());
    }
    return fds;
  }
  unsigned char* fill_address(uint32_t slot) override {
    slots_[slot].copied->wait();  // of the filling before
    return slots_[slot].staging.data();
  }
  void publish(uint32_t index) override {
    Slot& slot = slots_[index];
    const cuda::Current current(*context_);
    context_->driver().call().cuMemcpyHtoDAsync(slot.memory->address(), slot.staging.data(), slot.staging.size(),
                                                stream_.handle());
    slot.copied->record(stream_.handle());
    if (!early_) slot.copied->wait();
  }
  void free(uint32_t slot) override {
    slots_[slot].copied->wait();
    slots_[slot].fd.reset();
    slots_[slot].memory.reset();
  }
  ~ExportedSlots() override {
    for (const Slot& slot : slots_) slot.copied->wait();
  }

 private:
  struct Slot {
    std::vector<unsigned char> staging;
    std::unique_ptr<cuda::RegisteredHost> registered;
    std::unique_ptr<cuda::Event> copied;
    std::unique_ptr<cuda::DeviceMemory> memory;
    cuda::HandleMemory::Shared shared;
    UniqueFd fd;
  };
  const bool early_;
  const cuda::ContextRef context_;
  cuda::Stream stream_;
  std::vector<Slot> slots_;
};

void copy_counts(const FakeCounts& from, GpuCounts& to) {
  to.hellos = from.hellos, to.attaches = from.attaches, to.batches = from.batches;
  to.releases = from.releases, to.wrong_releases = from.wrong_releases;
  to.detaches = from.detaches, to.kept_leases = from.kept_leases, to.open_sessions = from.open_sessions;
  to.gpus = from.last_gpus.size(), to.fd_gpus = from.last_fd_gpus, to.local_rank = from.last_local_rank;
  to.transport = static_cast<uint64_t>(from.last_transport), to.ready_early = from.last_ready_early ? 1 : 0;
  std::snprintf(to.device, sizeof to.device, "%s", from.last_device.c_str());
  if (!from.last_gpus.empty()) std::memcpy(to.first_gpu, from.last_gpus[0].data(), sizeof to.first_gpu);
}

}  // namespace

struct GpuDaemon::Shared {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  GpuCounts counts;
  bool listens = false;

  Shared() {
    pthread_mutexattr_t mutex_settings;
    pthread_condattr_t settings;
    ::pthread_mutexattr_init(&mutex_settings);
    ::pthread_mutexattr_setpshared(&mutex_settings, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&mutex_settings, PTHREAD_MUTEX_ROBUST);  // the daemon may be killed with it
    ::pthread_condattr_init(&settings);
    ::pthread_condattr_setpshared(&settings, PTHREAD_PROCESS_SHARED);
    ::pthread_condattr_setclock(&settings, CLOCK_MONOTONIC);
    ::pthread_mutex_init(&mutex, &mutex_settings);
    ::pthread_cond_init(&changed, &settings);
  }
  void lock() {
    if (::pthread_mutex_lock(&mutex) == EOWNERDEAD) ::pthread_mutex_consistent(&mutex);
  }
  void unlock() { ::pthread_mutex_unlock(&mutex); }
  template <typename Reached>
  bool wait(Reached&& reached) {
    timespec until = {};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 10;
    lock();
    int error = 0;
    while (!reached() && error == 0) error = ::pthread_cond_timedwait(&changed, &mutex, &until);
    const bool there = reached();
    unlock();
    return there;
  }
  template <typename Change>
  void change(Change&& body) {
    lock();
    body();
    ::pthread_cond_broadcast(&changed);
    unlock();
  }
};

GpuDaemon::GpuDaemon(const FakeCuda& cuda, const std::string& socket, FakeScript script) : owner_(::getpid()) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap");
  shared_ = std::construct_at(static_cast<Shared*>(memory));
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    try {
      run(cuda, socket, std::move(script));
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "daemon: %s\n", fault.what());
    }
    ::_exit(1);
  }
  if (!shared_->wait([this] { return shared_->listens; })) throw std::runtime_error("the daemon does not start");
}

void GpuDaemon::run(const FakeCuda& cuda, const std::string& socket, FakeScript script) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  cuda.use_here();
  const bool exports = !script.tamper_device &&
                       (script.memory == proto::MemoryKind::cuda_ipc || script.memory == proto::MemoryKind::cuda_vmm);
  if (exports) {
    script.make_slots = [](const FakeScript& of, const proto::Attach& attach) {
      return std::make_unique<ExportedSlots>(of, attach);
    };
  }
  script.on_change = [this](const FakeCounts& counts) {
    shared_->change([&] { copy_counts(counts, shared_->counts); });
  };
  const FakeDaemon daemon(socket, std::move(script));
  shared_->change([this] { shared_->listens = true; });
  for (;;) ::pause();  // until it is killed
}

GpuDaemon::~GpuDaemon() {
  if (::getpid() == owner_) kill();
  ::munmap(shared_, sizeof(Shared));
}

void GpuDaemon::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  if (::getpid() == owner_) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

GpuCounts GpuDaemon::counts() const {
  shared_->lock();
  const GpuCounts counts = shared_->counts;
  shared_->unlock();
  return counts;
}

bool GpuDaemon::wait_until(const std::function<bool(const GpuCounts&)>& reached) const {
  return shared_->wait([&] { return reached(shared_->counts); });
}

}  // namespace spdld::test
