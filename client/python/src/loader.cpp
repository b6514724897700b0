#include "client/python/src/loader.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "client/python/src/kept.h"
#include "client/python/src/lease.h"
#include "client/python/src/room.h"
#include "client/python/src/stream.h"

namespace nb = nanobind;

namespace spdld::python {

namespace {

constexpr int64_t kParkedSlice_ms =
    10;  // a wait is cut into these slices, since a batch that is parked does not end it
constexpr const char* kClosed = "this loader is closed: attach anew";

// Shows the progress of attaching. Gives up the wait when a signal's handler or the display has raised an exception.
// `user` is the display.
int show_and_look_after_signals(void* user, const char* what, uint64_t done, uint64_t total) {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) return 1;
  const nb::object& display = *static_cast<const nb::object*>(user);
  if (display.is_none()) return 0;
  try {
    display(what, done, total);
    return 0;
  } catch (nb::python_error& error) {
    error.restore();
    return 1;
  }
}

// Keeps a warning until the interpreter's lock is held again.
void keep_warning(void* user, const char* sentence) {
  try {
    static_cast<std::vector<std::string>*>(user)->emplace_back(sentence);
  } catch (...) {  // out of memory: the warning is lost, and the C library sees no exception
  }
}

LoaderHandle attach(spdld::AttachOptions options, const Patience& patience, bool has_timeout, nb::object display) {
  options.progress = &show_and_look_after_signals;
  options.progress_user = &display;
  std::vector<std::string> warnings;
  options.warn = &keep_warning;
  options.warn_user = &warnings;
  for (;;) {  // after a signal whose handler raises nothing, another attempt follows
    // 0 stands for the library's default time-out.
    options.timeout_ms = has_timeout ? patience.left_ms() : 0;
    if (has_timeout && options.timeout_ms == 0) options.timeout_ms = 1;
    LoaderHandle loader;
    spdld_result result = SPDLD_OK;
    std::string sentence;
    {
      const nb::gil_scoped_release released;
      spdld_loader* handle = nullptr;
      result = spdld_attach(&options, &handle);
      loader.reset(handle);
      if (result != SPDLD_OK) sentence = spdld_last_error();
    }
    if (loader) {
      for (const std::string& warning : warnings) warn(warning);
      return loader;
    }
    if (PyErr_Occurred()) throw nb::python_error();
    check_signals();
    if (result != SPDLD_INTERRUPTED || (has_timeout && patience.has_ended())) {
      raise(result == SPDLD_INTERRUPTED ? SPDLD_TIMEOUT : result, sentence);
    }
  }
}

// Closes the display when attaching has ended, whether it failed or not.
class Closing {
 public:
  explicit Closing(const nb::object& display) : display_(display) {}
  ~Closing() {
    if (display_.is_none()) return;
    const nb::error_scope as_it_was;  // the exception of a failed attach
    try {
      display_.attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("spdld.attach");
    }
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  const nb::object& display_;
};

const char* name_of(spdld_memory memory) {
  switch (memory) {
    case SPDLD_PINNED:
      return "pinned";
    case SPDLD_CUDA_HANDLE:
      return "cuda-handle";
    case SPDLD_CUDA_FD:
      return "cuda-fd";
    case SPDLD_HOST:
      break;
  }
  return "host";
}

LoaderInfo read_info(const spdld_loader* loader) {
  spdld_info info{};
  info.struct_size = sizeof info;
  const spdld_result result = spdld_get_info(loader, &info);
  if (result != SPDLD_OK) raise_last(result);
  const bool on_host = info.memory == SPDLD_HOST;
  std::vector<std::string> sources(info.source_names, info.source_names + info.sources);
  std::vector<std::string> classes;
  if (info.class_names) classes.assign(info.class_names, info.class_names + info.classes);
  return {info.pipeline,
          info.fingerprint,
          info.daemon,
          info.group,
          info.rank,
          info.world_size,
          info.batch_size,
          info.global_size,
          info.samples,
          info.steps_per_epoch,
          info.epochs,
          info.seed,
          info.slot_bytes,
          info.slot_count,
          info.writable != 0,
          name_of(info.memory),
          on_host ? std::nullopt : std::optional(info.device),
          on_host || !info.gpu ? std::nullopt : std::optional<std::string>(info.gpu),
          info.ready_early != 0,
          info.pushed != 0,
          std::move(sources),
          info.classes,
          std::make_shared<const std::vector<std::string>>(std::move(classes)),
          info.replay,
          info.socket,
          info.last_samples,
          info.empty_steps};
}

std::vector<uint64_t> numbers_of(const nb::object& ids) {
  const nb::object list = nb::hasattr(ids, "tolist") ? ids.attr("tolist")() : ids;
  std::vector<uint64_t> numbers;
  for (const nb::handle id : list) {
    const nb::int_ number(nb::steal(PyNumber_Index(id.ptr())));
    uint64_t value = 0;
    if (!nb::try_cast(number, value)) {
      raise(SPDLD_INVALID,
            "samples are pushed by their numbers in the data set, which are whole numbers from 0, and not as " +
                nb::cast<std::string>(nb::repr(id)));
    }
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

Loader::Loader(const spdld::AttachOptions& options, std::optional<double> timeout_s, std::string framework,
               const nb::object& display, const nb::object& converter)
    : owner_(::getpid()),
      framework_(std::move(framework)),
      has_replicas_(options.readers > 1),
      held_wait_given_(options.held_wait_ms != 0) {
  {
    const Closing closing(display);
    loader_ = attach(options, Patience(timeout_s), timeout_s.has_value(), display);
  }
  info_ = std::make_shared<const LoaderInfo>(read_info(loader_.get()));
  const nb::object made = converter(info_->memory, info_->device);
  convert_ = made[0];
  order_ = made[1];
  if (!order_.is_none()) parked_ = std::make_shared<Parked>();
  const spdld_result result = spdld_tell(loader_.get(), &position_.first, &position_.second);
  if (result != SPDLD_OK) raise_last(result);
  tell(missing_news(loader_.get(), info_->pipeline));
  tell(empty_news(*info_));
}

Loader::~Loader() {
  if (::getpid() != owner_ || !nb::is_alive()) return;
  try {
    give_back_parked();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("spdld.Loader");
  }
  const nb::gil_scoped_release released;  // as in close()
  loader_.reset();
  if (parked_) parked_->close();
}

void Loader::give_back_parked() {
  if (!parked_) return;
  std::vector<spdld::Batch> batches = parked_->take();
  if (batches.empty()) return;
  try {
    order_();
    for (const spdld::Batch& batch : batches) use(batch, nullptr);
  } catch (...) {  // a later call may succeed
    for (spdld::Batch& batch : batches) parked_->put(std::move(batch));
    throw;
  }
}

std::pair<uint64_t, uint64_t> Loader::position() const {
  if (::getpid() != owner_) return position_;  // in a forked child no thread could give the mutex back
  const std::lock_guard lock(position_mutex_);
  return position_;
}

void Loader::set_position(uint64_t epoch, uint64_t step) {
  const std::lock_guard lock(position_mutex_);
  position_ = {epoch, step};
}

void Loader::step_on(const spdld::Batch& batch) {
  uint64_t epoch = 0, step = 0;
  spdld_tell(loader_.get(), &epoch, &step);
  set_position(epoch, step);
  go_to(epoch != batch.info().epoch ? Iteration::kEndDue : Iteration::kWithin);
}

void Loader::go_to(Iteration to) {
  if (iteration_ != to) iteration_.change(to);
}

void Loader::refuse_in_forked_child() const {
  // Checked before the lock is taken, because another thread may have held the lock when this process was forked.
  if (::getpid() == owner_) return;
  raise(SPDLD_FORKED, "this loader belongs to the parent of this forked process: attach anew in this process");
}

std::unique_lock<std::timed_mutex> Loader::take_turn() {
  refuse_in_forked_child();
  std::unique_lock turn(turn_, std::try_to_lock);
  while (!turn) {  // the other thread waits in short slices, and notices when the loader is closed
    {
      const nb::gil_scoped_release released;
      turn.try_lock_for(std::chrono::milliseconds(kSlice_ms));
    }
    if (!turn) check_signals();
  }
  return turn;
}

Loader::Attempt Loader::attempt_next(int64_t wait_ms) {
  std::optional<nb::gil_scoped_release> released;  // for a batch that is ready the interpreter lock is not released
  // For GPU memory it is released unless a batch was there last time: the daemon may have come back, and opening its
  // memory may take long.
  if (wait_ms > 0 || (info_->memory != "host" && !was_ready_)) released.emplace();
  const std::unique_lock turn(turn_, std::chrono::milliseconds(wait_ms));
  if (closing_) return {SPDLD_INVALID, {}, kClosed};
  if (!turn) return {SPDLD_TIMEOUT, {}, "another thread waits for this loader's next batch"};
  if (!kept_.empty()) {
    Attempt attempt{SPDLD_OK, std::move(kept_.front()), {}};
    kept_.erase(kept_.begin());
    step_on(attempt.batch);
    return attempt;
  }
  spdld_batch* batch = nullptr;
  const spdld_result result = spdld_next(loader_.get(), wait_ms, &batch);
  if (batch) {
    was_ready_ = true;
    Attempt attempt{result, hold(batch, info_->memory != "host"), {}};
    attempt.news = bad_news_.of(loader_.get(), attempt.batch.info(), info_->pipeline);
    if (attempt.news.empty()) step_on(attempt.batch);
    return attempt;
  }
  was_ready_ = false;
  if (result == SPDLD_END_OF_EPOCH) note_end();
  if (result == SPDLD_END_OF_EPOCH || result == SPDLD_END) return {result, {}, {}};
  Attempt attempt{result, {}, spdld_last_error()};
  if (result == SPDLD_TIMEOUT || result == SPDLD_LIMIT) {
    spdld_info info{};
    info.struct_size = sizeof info;
    attempt.is_full =
        spdld_get_info(loader_.get(), &info) == SPDLD_OK && info.held_max > 0 && info.held >= info.held_max;
  }
  return attempt;
}

void Loader::tell_before(const Attempt& attempt) {
  if (attempt.news.empty()) return;
  try {
    tell(attempt.news);
  } catch (nb::python_error&) {
    const std::unique_lock turn = take_turn();
    if (!closing_) kept_.push_back(attempt.batch);
    throw;
  }
  const std::unique_lock turn = take_turn();
  if (!closing_) step_on(attempt.batch);
}

nb::object Loader::next(std::optional<double> timeout_s) {
  refuse_in_forked_child();
  drop_objects_let_go();
  const Patience patience(timeout_s);
  RoomWait room(framework_);
  bool is_full = false;
  for (bool wait = false;; wait = true) {
    give_back_parked();
    const int64_t slice_ms = is_full && parked_ ? std::min(kParkedSlice_ms, patience.slice_ms()) : patience.slice_ms();
    Attempt attempt = attempt_next(wait ? slice_ms : 0);
    is_full = attempt.is_full;
    if (attempt.result == SPDLD_OK) {
      tell_before(attempt);
      return nb::cast(Batch(std::move(attempt.batch), convert_, parked_, info_));
    }
    if (attempt.result == SPDLD_END_OF_EPOCH || attempt.result == SPDLD_END) return nb::none();
    if (attempt.is_full) {
      const bool in_vain = attempt.result == SPDLD_LIMIT || (!held_wait_given_ && room.is_in_vain());
      if (room.collect(in_vain)) continue;
      if (in_vain) raise(SPDLD_LIMIT, attempt.sentence);
      room.warn(attempt.sentence);
    }
    if (attempt.result < 0) raise(attempt.result, attempt.sentence);
    check_signals();
    if (patience.has_ended()) raise(SPDLD_TIMEOUT, attempt.sentence);
  }
}

void Loader::begin_iteration() {
  const std::unique_lock turn = take_turn();
  if (closing_) raise(SPDLD_INVALID, kClosed);
  if (iteration_ == Iteration::kEndDue) {
    spdld_batch* none = nullptr;
    spdld_next(loader_.get(), 0, &none);  // gives SPDLD_END_OF_EPOCH, only once
    note_end();
  }
  if (iteration_ == Iteration::kOver) seek_under_turn(0, 0);
}

void Loader::note_end() { go_to(info_->epochs == 1 ? Iteration::kOver : Iteration::kWithin); }

void Loader::seek(uint64_t epoch, uint64_t step) {
  const std::unique_lock turn = take_turn();
  if (closing_) raise(SPDLD_INVALID, kClosed);
  seek_under_turn(epoch, step);
}

void Loader::seek_under_turn(uint64_t epoch, uint64_t step) {
  const spdld_result result = spdld_seek(loader_.get(), epoch, step);
  if (result != SPDLD_OK) raise_last(result);
  note_moved();
}

void Loader::push(uint64_t epoch, uint64_t step, const nb::object& ids, bool last) {
  const std::vector<uint64_t> numbers = numbers_of(ids);
  const std::unique_lock turn = take_turn();
  if (closing_) raise(SPDLD_INVALID, kClosed);
  const spdld_result result = spdld_push(loader_.get(), epoch, step, numbers.data(), numbers.size(), last ? 1 : 0);
  if (result != SPDLD_OK) raise_last(result);
  const uint64_t epoch_before = position().first;
  uint64_t epoch_now = 0, step_now = 0;
  spdld_tell(loader_.get(), &epoch_now, &step_now);
  if (epoch_now == epoch_before) return;
  set_position(epoch_now, step_now);  // this step ended the epoch whose last batch was handed out before
  go_to(Iteration::kEndDue);
}

void Loader::note_moved() {
  kept_.clear();
  go_to(Iteration::kWithin);
  uint64_t epoch = 0, step = 0;
  spdld_tell(loader_.get(), &epoch, &step);
  set_position(epoch, step);
}

nb::dict Loader::stats() {
  spdld::Stats stats;
  {
    const std::unique_lock turn = take_turn();
    if (closing_) raise(SPDLD_INVALID, kClosed);
    stats = spdld::stats_of(loader_.get());
  }
  return dict_of(stats);
}

nb::object Loader::state_dict() {
  std::string json;
  std::optional<spdld_batch_info> next;  // a batch that was taken already, but not handed out yet
  {
    const std::unique_lock turn = take_turn();
    if (closing_) raise(SPDLD_INVALID, kClosed);
    char* text = nullptr;
    const spdld_result result = spdld_state(loader_.get(), &text);
    if (result != SPDLD_OK) raise_last(result);
    json = spdld::take_text(text);
    if (!kept_.empty()) next = kept_.front().info();
  }
  nb::object state = nb::module_::import_("spdld._state").attr("dict_of")(nb::bytes(json.data(), json.size()));
  if (next) {
    state["epoch"] = next->epoch;
    state["step"] = next->step;
    state["samples"] = next->step * info_->global_size;
  }
  return state;
}

nb::object Loader::samples_of(uint64_t epoch, uint64_t step, std::optional<uint64_t> rank) const {
  refuse_in_forked_child();
  return nb::module_::import_("spdld._ledger").attr("samples_of")(nb::cast(*info_), epoch, step, rank);
}

bool Loader::shared() {
  const std::unique_lock turn = take_turn();
  if (closing_) raise(SPDLD_INVALID, kClosed);
  spdld_info info{};
  info.struct_size = sizeof info;
  const spdld_result result = spdld_get_info(loader_.get(), &info);
  if (result != SPDLD_OK) raise_last(result);
  return info.shared != 0;
}

void Loader::load_state_dict(nb::handle state, bool strict) {
  const auto json = nb::cast<std::string>(nb::module_::import_("spdld._state").attr("text_of")(state));
  const std::unique_lock turn = take_turn();
  if (closing_) raise(SPDLD_INVALID, kClosed);
  const spdld_result result = spdld_load_state(loader_.get(), json.c_str(), strict ? 0 : 1);
  if (result != SPDLD_OK) raise_last(result);
  note_moved();
}

void Loader::set_epoch(uint64_t epoch) {
  begin_iteration();
  // Replicas always seek, because another replica may stand elsewhere and wait for this replica.
  if (has_replicas_ || position() != std::pair<uint64_t, uint64_t>(epoch, 0)) seek(epoch, 0);
}

void Loader::close() {
  closing_ = true;
  if (::getpid() != owner_) return;
  give_back_parked();  // a batch that is parked later waits until this object ends
  const std::unique_lock turn = take_turn();
  {
    const nb::gil_scoped_release released;  // closing may wait for a GPU's work, which may wait for a Python function
    kept_.clear();
    loader_.reset();
  }
  drop_objects_let_go();
}

std::string Loader::describe() const {
  std::string text =
      info_->pipeline + " rank " + std::to_string(info_->rank) + " of " + std::to_string(info_->world_size);
  if (closing_) return text + ", closed";
  const auto [epoch, step] = position();
  return text + ", at epoch " + std::to_string(epoch) + " step " + std::to_string(step) +
         (info_->pushed ? "" : " of " + std::to_string(info_->steps_per_epoch));
}

nb::object EpochIterator::next() {
  nb::object batch = ended_ ? nb::none() : nb::cast<Loader&>(loader_).next(std::nullopt);
  ended_ = batch.is_none();
  if (ended_) throw nb::stop_iteration();
  return batch;
}

}  // namespace spdld::python
