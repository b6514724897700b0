// libspdld for C++17 and later: values and exceptions over the C ABI of spdld.h, which says what holds for threads,
// forks and ownership. This header needs no library of its own: only the C ABI crosses the library's border.
#pragma once

#include <spdld.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace spdld {

class Exception : public std::runtime_error {
 public:
  Exception(spdld_result result, const char* message) : std::runtime_error(message), result_(result) {}
  spdld_result result() const noexcept { return result_; }

 private:
  spdld_result result_;
};

inline spdld_result check(spdld_result result) {
  if (result < 0) throw Exception(result, spdld_last_error());
  return result;
}

// For a call that gives nothing but for SPDLD_OK: a time-out throws as well.
inline void demand(spdld_result result) {
  if (result != SPDLD_OK) throw Exception(result, spdld_last_error());
}

inline std::string take_text(char* text) {
  const std::unique_ptr<char, void (*)(void*)> held(text, &spdld_free);
  return std::string(text);
}

// A counted reference to a batch. Copies share the batch; the last copy's end gives it back to the daemon.
class Batch {
 public:
  Batch() = default;
  explicit Batch(spdld_batch* batch) : batch_(batch, &spdld_batch_release) {}
  // For a caller that releases the batch by itself, in the pointer's deleter.
  explicit Batch(std::shared_ptr<spdld_batch> batch) : batch_(std::move(batch)) {}

  explicit operator bool() const { return static_cast<bool>(batch_); }
  spdld_batch* get() const { return batch_.get(); }
  void release() { batch_.reset(); }
  // Call it before a stream reads or writes a batch on a GPU, or copies from a pinned batch.
  void use(void* stream) const { check(spdld_batch_use(batch_.get(), stream)); }
  void wait() const { demand(spdld_batch_wait(batch_.get())); }

  spdld_batch_info info() const {
    spdld_batch_info info{};
    info.struct_size = sizeof info;
    check(spdld_batch_get_info(batch_.get(), &info));
    return info;
  }
  spdld_tensor tensor(uint32_t index) const {
    spdld_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    check(spdld_batch_tensor(batch_.get(), index, &tensor));
    return tensor;
  }
  spdld_tensor operator[](const char* name) const {
    spdld_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    check(spdld_batch_find(batch_.get(), name, &tensor));
    return tensor;
  }
  // The offsets, lengths or mask that describe a tensor. None: the batch has no such tensor.
  std::optional<spdld_tensor> part(const char* of, spdld_role role) const {
    spdld_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    const spdld_result result = spdld_batch_find_part(batch_.get(), of, role, &tensor);
    if (result == SPDLD_NOT_FOUND) return std::nullopt;
    check(result);
    return tensor;
  }

 private:
  std::shared_ptr<spdld_batch> batch_;
};

struct AttachOptions : spdld_attach_options {
  AttachOptions() : spdld_attach_options{} { struct_size = sizeof(spdld_attach_options); }
};

// The counts of spdld_stats, with the reasons and the sentences that it counts.
struct Stats {
  struct Reason {
    std::string reason;
    bool unsupported = false;
    uint64_t count = 0, sample = 0;
    std::string name;
    bool too_long = false, dropped = false;
  };
  spdld_stats counts{};
  std::vector<Reason> reasons;
  std::vector<std::string> missing;
};

inline Stats stats_of(const spdld_loader* loader) {
  Stats stats;
  stats.counts.struct_size = sizeof stats.counts;
  check(spdld_get_stats(loader, &stats.counts));
  for (uint32_t i = 0; i < stats.counts.bad_reasons; i++) {
    spdld_bad_reason told{};
    told.struct_size = sizeof told;
    check(spdld_get_bad_reason(loader, i, &told));
    stats.reasons.push_back({told.reason, told.unsupported != 0, told.count, told.sample, told.name, told.too_long != 0,
                             told.dropped != 0});
  }
  for (uint32_t i = 0; i < stats.counts.missing; i++) {
    const char* what = nullptr;
    check(spdld_get_missing(loader, i, &what));
    stats.missing.emplace_back(what);
  }
  return stats;
}

class Loader {
 public:
  explicit Loader(const spdld_attach_options& options) {
    spdld_loader* loader = nullptr;
    demand(spdld_attach(&options, &loader));
    loader_.reset(loader);
  }
  // `pipeline` is a named pipeline, or a path that ends in .toml. Rank and group come from the environment.
  explicit Loader(const std::string& pipeline) : Loader(named(pipeline)) {}

  // Where there is no batch, `result` is SPDLD_END_OF_EPOCH, SPDLD_END, SPDLD_TIMEOUT or SPDLD_INTERRUPTED. Errors
  // throw.
  struct Next {
    spdld_result result;
    Batch batch;
  };
  Next next(int64_t timeout_ms = -1) {
    spdld_batch* batch = nullptr;
    const spdld_result result = check(spdld_next(loader_.get(), timeout_ms, &batch));
    return {result, batch ? Batch(batch) : Batch()};
  }
  void seek(uint64_t epoch, uint64_t step = 0) { check(spdld_seek(loader_.get(), epoch, step)); }
  // Moves to the start of an epoch. Nothing happens if the loader stands there already.
  void set_epoch(uint64_t epoch) { seek(epoch); }
  // Sets the samples of a step to come; see spdld_push. Without ids, and with `last`, the epoch ends before this step.
  void push(uint64_t epoch, uint64_t step, const std::vector<uint64_t>& ids, bool last = false) {
    check(spdld_push(loader_.get(), epoch, step, ids.data(), ids.size(), last ? 1 : 0));
  }
  // The loader's place as JSON, to be kept with a checkpoint.
  std::string state() const {
    char* json = nullptr;
    check(spdld_state(loader_.get(), &json));
    return take_text(json);
  }
  void load_state(const std::string& json, bool anyway = false) {
    check(spdld_load_state(loader_.get(), json.c_str(), anyway ? 1 : 0));
  }
  std::pair<uint64_t, uint64_t> tell() const {
    uint64_t epoch = 0, step = 0;
    check(spdld_tell(loader_.get(), &epoch, &step));
    return {epoch, step};
  }
  spdld_info info() const {
    spdld_info info{};
    info.struct_size = sizeof info;
    check(spdld_get_info(loader_.get(), &info));
    return info;
  }
  // The names of an image folder's classes: the label i means classes()[i]. The list is empty if the data has no
  // classes, or if their names are too long to be sent; info().classes tells how many there are.
  std::vector<std::string> classes() const {
    const spdld_info told = info();
    if (!told.class_names) return {};
    return std::vector<std::string>(told.class_names, told.class_names + told.classes);
  }
  // The label of each class, by its name.
  std::map<std::string, uint64_t> class_to_idx() const {
    std::map<std::string, uint64_t> numbers;
    for (std::string& name : classes()) {
      const uint64_t number = numbers.size();
      numbers.emplace(std::move(name), number);
    }
    return numbers;
  }
  // Counts of the batches and samples so far, and of the bad samples among them.
  Stats stats() const { return stats_of(loader_.get()); }
  spdld_loader* get() const { return loader_.get(); }

 private:
  struct Named : AttachOptions {
    explicit Named(const std::string& name) { pipeline = name.c_str(); }
  };
  static Named named(const std::string& name) { return Named(name); }
  struct Detach {
    void operator()(spdld_loader* loader) const { spdld_detach(loader); }
  };
  std::unique_ptr<spdld_loader, Detach> loader_;
};

inline std::string query(const char* topic, const char* argument = nullptr, const char* socket = nullptr,
                         int64_t timeout_ms = 5000) {
  char* json = nullptr;
  demand(spdld_query(socket, topic, argument, timeout_ms, &json));
  return take_text(json);
}

}  // namespace spdld
