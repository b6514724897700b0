// What every test of the client needs: a folder for a socket, a loader on it, and batches that prove their content.
#pragma once

#include <spdld.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/fake_daemon.h"
#include "tests/support/temp_dir.h"

namespace spdld::test {

class Folder : public TempDir {
 public:
  std::string path() const { return TempDir::path().string(); }
  std::string socket() const { return path() + "/s"; }
};

struct Detach {
  void operator()(spdld_loader* loader) const { spdld_detach(loader); }
};
struct Release {
  void operator()(spdld_batch* batch) const { spdld_batch_release(batch); }
};
using Loader = std::unique_ptr<spdld_loader, Detach>;
using Batch = std::unique_ptr<spdld_batch, Release>;

inline spdld_attach_options options_for(const std::string& socket) {
  spdld_attach_options options = {};
  options.struct_size = sizeof options;
  options.socket = socket.c_str();
  options.pipeline = "p";
  options.group = "g";
  options.world_size = 1;
  options.timeout_ms = 5000;
  options.reconnect_ms = 5000;
  options.held_wait_ms = -1;
  options.no_private_daemon = 1;
  return options;
}

inline Loader attach(const spdld_attach_options& options) {
  spdld_loader* loader = nullptr;
  const spdld_result result = spdld_attach(&options, &loader);
  INFO(spdld_last_error());
  REQUIRE(result == SPDLD_OK);
  return Loader(loader);
}

// A folder, a fake daemon and a loader on it, in the order in which they live.
struct Attached {
  explicit Attached(FakeScript script = {}) : daemon(folder.socket(), std::move(script)) {
    const std::string socket = folder.socket();
    loader = attach(options_for(socket));
  }
  Folder folder;
  FakeDaemon daemon;
  Loader loader;
};

// A folder, a fake daemon at its socket, which a case may end and begin anew, and the options of a loader there.
struct Site {
  explicit Site(FakeScript script = {}) { begin(std::move(script)); }
  // Ends the daemon, as a kill does, and begins another.
  void begin(FakeScript script = {}) {
    daemon.reset();
    daemon = std::make_unique<FakeDaemon>(socket, std::move(script));
  }
  Folder folder;
  const std::string socket = folder.socket();
  std::unique_ptr<FakeDaemon> daemon;
  spdld_attach_options options = options_for(socket);
};

inline spdld_info info_of(const Loader& loader) {
  spdld_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(spdld_get_info(loader.get(), &info) == SPDLD_OK);
  return info;
}

inline spdld_batch_info info_of(const Batch& batch) {
  spdld_batch_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(spdld_batch_get_info(batch.get(), &info) == SPDLD_OK);
  return info;
}

inline Batch next(const Loader& loader, int64_t timeout_ms = 5000) {
  spdld_batch* batch = nullptr;
  const spdld_result result = spdld_next(loader.get(), timeout_ms, &batch);
  INFO(spdld_last_error());
  REQUIRE(result == SPDLD_OK);
  return Batch(batch);
}

inline spdld_result next_result(const Loader& loader, int64_t timeout_ms = 5000) {
  spdld_batch* batch = nullptr;
  const spdld_result result = spdld_next(loader.get(), timeout_ms, &batch);
  spdld_batch_release(batch);
  return result;
}

// For a call that fills it in.
inline spdld_tensor no_tensor() {
  spdld_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  return tensor;
}

// Whether every pixel is what the fake daemon writes beside this sample id.
inline bool is_intact(const spdld_batch* batch) {
  spdld_tensor ids = no_tensor(), image = no_tensor();
  if (spdld_batch_find(batch, "sample_id", &ids) != SPDLD_OK) return false;
  if (spdld_batch_find(batch, "image", &image) != SPDLD_OK) return false;
  const auto* id = static_cast<const int64_t*>(ids.address);
  const auto* pixel = static_cast<const unsigned char*>(image.address);
  for (int64_t i = 0; i < ids.shape[0]; ++i) {
    if (id[i] != id[0] + i) return false;
    for (int64_t c = 0; c < 3; ++c) {
      if (pixel[3 * i + c] != static_cast<unsigned char>(id[i] + c)) return false;
    }
  }
  return true;
}

// The batch's number over all epochs (the fake daemon's batches have 4 samples unless told otherwise).
inline int64_t number_of(const Batch& batch, int64_t batch_size = 4) {
  REQUIRE(is_intact(batch.get()));
  spdld_tensor ids = no_tensor();
  REQUIRE(spdld_batch_find(batch.get(), "sample_id", &ids) == SPDLD_OK);
  return *static_cast<const int64_t*>(ids.address) / batch_size;
}

// All numbers until the end, each batch given back at once.
inline std::vector<int64_t> numbers_to_the_end(const Loader& loader) {
  std::vector<int64_t> numbers;
  for (int i = 0; i < 100'000; ++i) {
    spdld_batch* raw = nullptr;
    const spdld_result result = spdld_next(loader.get(), 5000, &raw);
    const Batch batch(raw);
    INFO(spdld_last_error());
    if (result == SPDLD_END) return numbers;
    if (result == SPDLD_END_OF_EPOCH) continue;
    REQUIRE(result == SPDLD_OK);
    numbers.push_back(number_of(batch));
  }
  FAIL("the loader has no end");
  return numbers;
}

inline std::vector<int64_t> count_from(int64_t first, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t number = first; number < end; ++number) numbers.push_back(number);
  return numbers;
}

class Stopwatch {
 public:
  int64_t ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// An environment variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    if (before) before_ = before;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace spdld::test
