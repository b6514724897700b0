#include "tests/support/fake_cuda/fake_cuda.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "tests/support/fake_cuda/ledger.h"

namespace spdld::test {

struct FakeCuda::State {
  std::unique_ptr<fake::Ledger> ledger;
  std::filesystem::path libraries;
};

namespace {

fake::Symbol known(std::string_view symbol) {
  const auto found = fake::symbol_of(symbol);
  if (!found) throw std::invalid_argument("the fake driver has no entry " + std::string(symbol));
  return *found;
}

}  // namespace

FakeCuda::FakeCuda(const FakeCudaOptions& options) : state_(std::make_unique<State>()) {
  std::string name = (std::filesystem::temp_directory_path() / "spdld-fake-cuda-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), "mkdtemp " + name);
  folder_ = name;
  state_->ledger = fake::Ledger::create(folder_, options);
  state_->libraries = std::filesystem::path(SPDLD_FAKE_CUDA_LIBRARIES) / (options.old_driver ? "old" : "");
}

FakeCuda::~FakeCuda() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::map<std::string, std::string> FakeCuda::environment() const {
  std::string path = state_->libraries;
  if (const char* before = std::getenv("LD_LIBRARY_PATH"); before && *before) path += std::string(":") + before;
  return {{"LD_LIBRARY_PATH", path}, {fake::kFolderVariable, folder_}};
}

void FakeCuda::use_here() const {
  for (const auto& [name, value] : environment())
    if (::setenv(name.c_str(), value.c_str(), 1) != 0)
      throw std::system_error(errno, std::generic_category(), "setenv");
  // The loader has read LD_LIBRARY_PATH long ago; but what is loaded already it finds again by its name.
  for (const char* library : {"libcuda.so.1", "libnvidia-ml.so.1"})
    if (!::dlopen((state_->libraries / library).c_str(), RTLD_NOW | RTLD_LOCAL))
      throw std::runtime_error("no fake driver: " + std::string(::dlerror()));
}

void FakeCuda::inject(std::string_view symbol, int code, uint64_t nth, bool ever_after, pid_t pid) {
  if (nth == 0) throw std::invalid_argument("calls are counted from 1");
  state_->ledger->inject(known(symbol), code, nth, ever_after, pid);
}
void FakeCuda::clear_faults() { state_->ledger->clear_faults(); }
uint64_t FakeCuda::struck() const { return state_->ledger->struck(); }
uint64_t FakeCuda::calls(std::string_view symbol) const { return state_->ledger->calls(known(symbol)); }
uint64_t FakeCuda::rdma_allocations() const { return state_->ledger->rdma_allocations(); }
FakeCudaLive FakeCuda::live(pid_t pid) const { return state_->ledger->live(pid); }
uint64_t FakeCuda::used_bytes(int device) const { return state_->ledger->used_bytes(device); }
std::vector<std::string> FakeCuda::violations() const { return state_->ledger->violations(); }

}  // namespace spdld::test
