// The C border: no exception crosses it, every failure leaves a sentence, and a forked child touches nothing.
#include <spdld.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "client/src/gpu/nvtx.h"
#include "client/src/options.h"
#include "client/src/query.h"
#include "client/src/resident.h"
#include "client/src/ring/returns.h"

using namespace spdld::client;  // NOLINT: this file is the border of that namespace
namespace proto = spdld::proto;

struct spdld_loader {
  explicit spdld_loader(LoaderSettings settings) : resident(std::move(settings)) {}
  const pid_t owner = ::getpid();
  mutable Resident resident;
};

struct spdld_batch {
  explicit spdld_batch(std::unique_ptr<Batch> content) : batch(std::move(content)) {}
  const pid_t owner = ::getpid();
  const std::unique_ptr<Batch> batch;
};

namespace {

constexpr int64_t kAttachDefault_ms = 30 * 60 * 1000;

thread_local std::string last_error;

spdld_result report(spdld_result result, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();  // out of memory: the result alone must do
  }
  return result;
}

// Runs a call's body, which gives an CallOutcome.
template <typename Body>
spdld_result guarded(Body&& body) noexcept {
  try {
    Returns::of_process().attend();
    const CallOutcome outcome = body();
    return outcome.ok() ? SPDLD_OK : report(outcome.result, outcome.text.c_str());
  } catch (const std::exception& error) {
    return report(SPDLD_INTERNAL, error.what());
  } catch (...) {
    return report(SPDLD_INTERNAL, "an unknown exception");
  }
}

CallOutcome missing(const char* what) { return failure(SPDLD_INVALID, std::string(what) + " is NULL"); }

template <typename Handle>
CallOutcome usable(const Handle* handle, const char* what) {
  if (!handle) return missing(what);
  if (handle->owner == ::getpid()) return {};
  return failure(SPDLD_FORKED,
                 std::string("this ") + what + " belongs to the process that was forked: attach anew here");
}

// Fills as many bytes as the caller's structure has; its struct_size stays.
template <typename Struct>
CallOutcome fill(Struct value, Struct* target) {
  if (!target) return missing("info");
  if (target->struct_size <= sizeof(size_t)) return failure(SPDLD_INVALID, "struct_size is not set");
  value.struct_size = target->struct_size;
  std::memcpy(target, &value, std::min(sizeof value, target->struct_size));
  return {};
}

CallOutcome no_such(const char* what, size_t count, uint32_t index) {
  return failure(SPDLD_INVALID,
                 "the loader has " + std::to_string(count) + " " + what + ", none of index " + std::to_string(index));
}

// The caller's to free.
CallOutcome give_text(const std::string& text, char** target) {
  *target = static_cast<char*>(std::malloc(text.size() + 1));
  if (!*target) return failure(SPDLD_INTERNAL, "out of memory");
  std::memcpy(*target, text.c_str(), text.size() + 1);
  return {};
}

// The numbers are the protocol's. Any other number becomes a value that names no type.
proto::DType wire_type(spdld_dtype dtype) {
  const auto number = static_cast<unsigned>(dtype);
  return static_cast<proto::DType>(std::min(number, 255u));
}

CallOutcome describe(const Tensor& tensor, spdld_tensor* target) {
  spdld_tensor told = {};
  told.name = tensor.name.c_str();
  told.dtype = tensor.dtype;
  told.rank = tensor.rank;
  told.shape = tensor.shape.data();
  told.strides = tensor.strides.data();
  told.address = tensor.address;
  told.role = tensor.role;
  told.of = tensor.of.c_str();
  return fill(told, target);
}

}  // namespace

extern "C" {

const char* spdld_version(void) { return SPDLD_VERSION_TEXT; }

const char* spdld_last_error(void) { return last_error.c_str(); }

const char* spdld_result_name(spdld_result result) {
  switch (result) {
    case SPDLD_OK:
      return "SPDLD_OK";
    case SPDLD_END_OF_EPOCH:
      return "SPDLD_END_OF_EPOCH";
    case SPDLD_END:
      return "SPDLD_END";
    case SPDLD_TIMEOUT:
      return "SPDLD_TIMEOUT";
    case SPDLD_INTERRUPTED:
      return "SPDLD_INTERRUPTED";
    case SPDLD_INVALID:
      return "SPDLD_INVALID";
    case SPDLD_NO_DAEMON:
      return "SPDLD_NO_DAEMON";
    case SPDLD_DENIED:
      return "SPDLD_DENIED";
    case SPDLD_NOT_FOUND:
      return "SPDLD_NOT_FOUND";
    case SPDLD_CONFLICT:
      return "SPDLD_CONFLICT";
    case SPDLD_CHANGED:
      return "SPDLD_CHANGED";
    case SPDLD_LIMIT:
      return "SPDLD_LIMIT";
    case SPDLD_VERSION:
      return "SPDLD_VERSION";
    case SPDLD_FAILED:
      return "SPDLD_FAILED";
    case SPDLD_UNSUPPORTED:
      return "SPDLD_UNSUPPORTED";
    case SPDLD_FORKED:
      return "SPDLD_FORKED";
    case SPDLD_INTERNAL:
      return "SPDLD_INTERNAL";
  }
  return "unknown";
}

const char* spdld_dtype_name(spdld_dtype dtype) { return proto::name_of(wire_type(dtype)).data(); }

size_t spdld_dtype_bytes(spdld_dtype dtype) { return proto::bytes_of(wire_type(dtype)); }

spdld_result spdld_attach(const spdld_attach_options* given, spdld_loader** loader) {
  return guarded([&]() -> CallOutcome {
    if (!loader) return missing("loader");
    *loader = nullptr;
    spdld_attach_options options;
    CallOutcome outcome = copy_options(given, options);
    if (!outcome.ok()) return outcome;
    const Deadline deadline = Deadline::after_ms(options.timeout_ms == 0 ? kAttachDefault_ms : options.timeout_ms);
    for (;;) {  // each turn takes a name of the job that this process has not used
      LoaderSettings settings;
      outcome = settings_from(options, settings);
      if (!outcome.ok()) return outcome;
      const JobName job = settings.job;
      auto attached = std::make_unique<spdld_loader>(std::move(settings));
      outcome = attached->resident.attach(deadline, options.progress, options.progress_user);
      const bool is_named = !job.launched.empty();
      const bool again = is_named && outcome.result == SPDLD_CONFLICT && attached->resident.has_namesake();
      if (is_named && (outcome.ok() || again)) job.note_used();
      if (again) continue;
      if (outcome.result == SPDLD_CHANGED && options.state) outcome.text += way_around(false);
      if (outcome.ok()) *loader = attached.release();
      return outcome;
    }
  });
}

void spdld_detach(spdld_loader* loader) {
  if (!loader || loader->owner != ::getpid()) return;
  guarded([&]() -> CallOutcome {
    const std::unique_ptr<spdld_loader> last(loader);
    return {};
  });
}

spdld_result spdld_get_info(const spdld_loader* handle, spdld_info* target) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(handle, "loader");
    if (!outcome.ok()) return outcome;
    const Resident::Use loader = handle->resident.use();
    const Terms& terms = loader->terms();
    spdld_info info = {};
    info.pipeline = terms.pipeline.c_str();
    info.fingerprint = terms.fingerprint.c_str();
    info.daemon = loader->daemon().c_str();
    info.group = loader->request().group.c_str();
    info.rank = loader->request().rank;
    info.world_size = loader->request().world_size;
    info.batch_size = terms.batch_size;
    info.global_size = terms.global_size;
    info.samples = terms.samples;
    info.steps_per_epoch = terms.steps_per_epoch;
    info.epochs = terms.epochs;
    info.seed = terms.seed;
    info.slot_bytes = loader->slot_bytes();
    info.slot_count = loader->slot_count();
    const Placement& placement = loader->placement();
    info.memory = placement.memory;
    info.device = placement.device;
    info.gpu = placement.gpu.c_str();
    info.ready_early = placement.ready_early ? 1 : 0;
    info.shared = loader->is_shared() ? 1 : 0;
    info.pushed = terms.is_pushed() ? 1 : 0;
    info.writable = terms.writable ? 1 : 0;
    info.sources = static_cast<uint32_t>(terms.sources->texts.size());
    info.source_names = terms.sources->pointers.data();
    info.classes = terms.class_count;
    info.class_names = terms.classes->pointers.empty() ? nullptr : terms.classes->pointers.data();
    info.held = loader->held();
    info.held_max = loader->held_max();
    info.replay = loader->replay().wanted();
    info.socket = loader->socket().c_str();
    info.last_samples = terms.last_samples;
    info.empty_steps = terms.empty_steps;
    return fill(info, target);
  });
}

spdld_result spdld_get_stats(const spdld_loader* loader, spdld_stats* target) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    const Resident::Use use = loader->resident.use();
    const Stats& stats = use->stats();
    spdld_stats told = {};
    told.batches = stats.batches;
    told.samples = stats.samples;
    told.substituted = stats.bad_counts.substituted;
    told.masked = stats.bad_counts.masked;
    told.absent = stats.bad_counts.absent;
    told.unsupported = stats.bad_counts.unsupported;
    told.too_long = stats.bad_counts.too_long;
    told.dropped = stats.bad_counts.dropped;
    told.bad_reasons = static_cast<uint32_t>(stats.reasons.size());
    told.missing = static_cast<uint32_t>(stats.missing.size());
    told.missing_count = stats.missing_count;
    told.replayed = use->replay().paced_steps();
    told.replay_step_ms = use->replay().step_ms();
    return fill(told, target);
  });
}

spdld_result spdld_get_bad_reason(const spdld_loader* loader, uint32_t index, spdld_bad_reason* target) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    const Resident::Use use = loader->resident.use();
    const auto& reasons = use->stats().reasons;
    if (index >= reasons.size()) return no_such("reasons", reasons.size(), index);
    const BadReason& reason = reasons[index];
    spdld_bad_reason told = {};
    told.reason = reason.reason.c_str();
    told.unsupported = reason.kind == proto::BadKind::unsupported ? 1 : 0;
    told.too_long = reason.kind == proto::BadKind::too_long ? 1 : 0;
    told.dropped = reason.kind == proto::BadKind::dropped ? 1 : 0;
    told.count = reason.count;
    told.sample = reason.sample;
    told.name = reason.name.c_str();
    return fill(told, target);
  });
}

spdld_result spdld_get_missing(const spdld_loader* loader, uint32_t index, const char** what) {
  return guarded([&]() -> CallOutcome {
    if (!what) return missing("what");
    *what = nullptr;
    const CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    const Resident::Use use = loader->resident.use();
    const auto& sentences = use->stats().missing;
    if (index >= sentences.size()) return no_such("sentences of what is missing", sentences.size(), index);
    *what = sentences[index].c_str();
    return {};
  });
}

spdld_result spdld_next(spdld_loader* loader, int64_t timeout_ms, spdld_batch** batch) {
  const NvtxRange range("spdld.next");
  return guarded([&]() -> CallOutcome {
    if (!batch) return missing("batch");
    *batch = nullptr;
    CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    std::unique_ptr<Batch> next;
    outcome = loader->resident.use()->next(Deadline::after_ms(timeout_ms), next);
    if (outcome.ok()) *batch = std::make_unique<spdld_batch>(std::move(next)).release();
    return outcome;
  });
}

spdld_result spdld_seek(spdld_loader* loader, uint64_t epoch, uint64_t step) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(loader, "loader");
    return outcome.ok() ? loader->resident.use()->seek({epoch, step}) : outcome;
  });
}

spdld_result spdld_tell(const spdld_loader* loader, uint64_t* epoch, uint64_t* step) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    if (!epoch || !step) return missing("epoch or step");
    const Position position = loader->resident.use()->tell();
    *epoch = position.epoch;
    *step = position.step;
    return {};
  });
}

spdld_result spdld_push(spdld_loader* loader, uint64_t epoch, uint64_t step, const uint64_t* ids, size_t count,
                        int last_of_epoch) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    if (!ids && count != 0) return missing("ids");
    return loader->resident.use()->push({epoch, step}, {ids, count}, last_of_epoch != 0);
  });
}

spdld_result spdld_state(const spdld_loader* loader, char** json) {
  return guarded([&]() -> CallOutcome {
    if (!json) return missing("json");
    *json = nullptr;
    const CallOutcome outcome = usable(loader, "loader");
    return outcome.ok() ? give_text(to_json(loader->resident.use()->state()), json) : outcome;
  });
}

spdld_result spdld_load_state(spdld_loader* loader, const char* json, int anyway) {
  return guarded([&]() -> CallOutcome {
    CallOutcome outcome = usable(loader, "loader");
    if (!outcome.ok()) return outcome;
    if (!json) return missing("json");
    State state;
    outcome = read_state(json, state);
    return outcome.ok() ? loader->resident.use()->load_state(state, anyway != 0) : outcome;
  });
}

int spdld_poll_fd(const spdld_loader* loader) {
  return loader && loader->owner == ::getpid() ? loader->resident.poll_fd() : -1;
}

spdld_result spdld_batch_get_info(const spdld_batch* batch, spdld_batch_info* target) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    if (!outcome.ok()) return outcome;
    const Content& content = batch->batch->content();
    spdld_batch_info info = {};
    info.epoch = content.position.epoch;
    info.step = content.position.step;
    info.valid = content.valid;
    info.first = content.first;
    info.tensors = static_cast<uint32_t>(content.tensors.size());
    info.substituted = static_cast<uint32_t>(content.bad_counts.substituted);
    info.masked = static_cast<uint32_t>(content.bad_counts.masked);
    info.absent = static_cast<uint32_t>(content.bad_counts.absent);
    info.dropped = static_cast<uint32_t>(content.bad_counts.dropped);
    info.memory = batch->batch->placement().memory;
    info.device = batch->batch->placement().device;
    info.padded = content.padded;
    info.sources = static_cast<uint32_t>(content.source_counts.size());
    info.source_names = batch->batch->sources().pointers.data();
    info.source_counts = content.source_counts.data();
    return fill(info, target);
  });
}

spdld_result spdld_batch_tensor(const spdld_batch* batch, uint32_t index, spdld_tensor* tensor) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    if (!outcome.ok()) return outcome;
    if (!tensor) return missing("tensor");
    const auto& tensors = batch->batch->content().tensors;
    if (index >= tensors.size()) {
      return failure(SPDLD_INVALID, "the batch has " + std::to_string(tensors.size()) + " tensors, none of index " +
                                        std::to_string(index));
    }
    return describe(tensors[index], tensor);
  });
}

spdld_result spdld_batch_find(const spdld_batch* batch, const char* name, spdld_tensor* tensor) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    if (!outcome.ok()) return outcome;
    if (!name || !tensor) return missing(name ? "tensor" : "name");
    const Tensor* found = batch->batch->find(name);
    if (found) return describe(*found, tensor);
    std::string names;
    for (const Tensor& known : batch->batch->content().tensors) names += (names.empty() ? "" : ", ") + known.name;
    return failure(SPDLD_NOT_FOUND, "the batch has no tensor \"" + std::string(name) + "\", only " + names);
  });
}

spdld_result spdld_batch_find_part(const spdld_batch* batch, const char* of, spdld_role role, spdld_tensor* tensor) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    if (!outcome.ok()) return outcome;
    if (!of || !tensor) return missing(of ? "tensor" : "of");
    const Tensor* found = batch->batch->find_part(of, role);
    if (found) return describe(*found, tensor);
    return failure(SPDLD_NOT_FOUND, "the batch has no tensor of this role that describes \"" + std::string(of) + "\"");
  });
}

void spdld_batch_retain(spdld_batch* batch) {
  if (batch && batch->owner == ::getpid()) batch->batch->retain();
}

void spdld_batch_release(spdld_batch* batch) {
  if (!batch || batch->owner != ::getpid() || !batch->batch->drop()) return;
  guarded([&]() -> CallOutcome {
    const std::unique_ptr<spdld_batch> last(batch);
    return {};
  });
}

spdld_result spdld_batch_use(spdld_batch* batch, void* stream) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    return outcome.ok() ? batch->batch->slot()->use(stream, nullptr) : outcome;
  });
}

spdld_result spdld_batch_use_kept(spdld_batch* batch, void* stream, void* kept, void (*drop)(void* kept)) {
  return guarded([&]() -> CallOutcome {
    if (!drop) return missing("drop");
    std::shared_ptr<void> keeper(kept, drop);
    const CallOutcome outcome = usable(batch, "batch");
    return outcome.ok() ? batch->batch->slot()->use(stream, std::move(keeper)) : outcome;
  });
}

spdld_result spdld_batch_wait(spdld_batch* batch) {
  return guarded([&]() -> CallOutcome {
    const CallOutcome outcome = usable(batch, "batch");
    return outcome.ok() ? batch->batch->slot()->wait() : outcome;
  });
}

spdld_result spdld_query(const char* socket, const char* topic, const char* argument, int64_t timeout_ms, char** json) {
  return guarded([&]() -> CallOutcome {
    if (!json || !topic) return missing(json ? "topic" : "json");
    *json = nullptr;
    std::string text;
    const CallOutcome outcome = query(socket, topic, argument ? argument : "", Deadline::after_ms(timeout_ms), text);
    return outcome.ok() ? give_text(text, json) : outcome;
  });
}

void spdld_free(void* memory) { std::free(memory); }

}  // extern "C"
