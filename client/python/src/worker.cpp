#include "client/python/src/worker.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "client/python/src/crew.h"
#include "client/python/src/errors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

namespace {

using client::WorkerSeat;
using proto::crew::Reply;
using proto::crew::ReplyKind;
using proto::crew::Taken;
using proto::crew::Task;
using proto::crew::TaskKind;

// A process that a function has forked, and that comes back from the function, has no business with the daemon.
std::atomic<bool> is_forked{false};

// None, or ([(name, kind, fit, scalar)], refuse, pieces, mapping).
std::unique_ptr<RecordForm> form_of(const nb::handle& told) {
  if (told.is_none()) return nullptr;
  std::vector<RecordField> fields;
  for (const nb::handle field : nb::borrow<nb::list>(told[0])) {
    const auto scalar = nb::cast<std::string>(field[3]);
    fields.push_back(
        {nb::cast<std::string>(field[0]), kind_of(field[1]), nb::borrow(field[2]), scalar.empty() ? '\0' : scalar[0]});
  }
  return std::make_unique<RecordForm>(std::move(fields), nb::borrow(told[1]), nb::borrow(told[2]), nb::borrow(told[3]));
}

// [(takes, gives, [(function, place, takes_rng)], output, fit, form, bunch, split, in_flight)]
std::vector<UserErrand> errands_of(const nb::list& told) {
  std::vector<UserErrand> errands;
  for (const nb::handle one : told) {
    UserErrand& errand =
        errands.emplace_back(UserErrand{kind_of(one[0]), kind_of(one[1]), {}, nb::borrow(one[4]), form_of(one[5])});
    const auto output = nb::cast<std::string>(one[3]);
    for (const nb::handle operation : nb::borrow<nb::list>(one[2])) {
      errand.operations.push_back({nb::borrow(operation[0]),
                                   client::operation_salt(nb::cast<uint32_t>(operation[1]), output),
                                   nb::cast<bool>(operation[2])});
    }
    errand.bunch = std::min<size_t>(nb::cast<size_t>(one[6]), proto::crew::kBunchMax);
    errand.split = nb::borrow(one[7]);
    errand.in_flight = std::min(nb::cast<uint32_t>(one[8]), proto::crew::kInFlightMax);
  }
  return errands;
}

}  // namespace

void end_if_forked() {
  if (!is_forked) return;
  constexpr std::string_view kSentence =
      "spdld: a process that a Python operation had forked came back from the function, and was ended\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  ::_exit(1);
}

Worker::Worker(std::vector<UserErrand> errands, nb::object told, nb::object ndarray, nb::object randomness)
    : errands_(std::move(errands)),
      told_(std::move(told)),
      ndarray_(std::move(ndarray)),
      randomness_object_(std::move(randomness)),
      randomness_(nb::cast<Randomness&>(randomness_object_)),
      rng_name_(nb::make_tuple("rng")),
      drop_(nb::module_::import_("spdld._crew.drop").attr("DROP")) {}

Worker::~Worker() {
  for (auto& [number, held] : held_) PyBuffer_Release(&held.view);
}

void Worker::sit_down(int ring, int bell, int scratch, uint64_t scratch_bytes) {
  const client::CallOutcome outcome = seat_.open(UniqueFd(ring), UniqueFd(bell), scratch, scratch_bytes);
  if (!outcome.ok()) raise(outcome.result, outcome.text);
  is_forked = false;
  ::pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  static char none[1];
  char* const memory = scratch_bytes > 0 ? reinterpret_cast<char*>(seat_.scratch().data()) : none;
  scratch_ = checked(PyMemoryView_FromMemory(memory, static_cast<Py_ssize_t>(scratch_bytes), PyBUF_WRITE));
}

std::string Worker::run() {
  Task task{};
  for (;;) {  // each turn takes a task, or sleeps
    switch (next(task)) {
      case Taken::kEntry:
        if (const char* fault = serve(task)) return fault;
        break;
      case Taken::kNothing: {
        client::Wake wake = client::Wake::kReady;
        {
          const nb::gil_scoped_release released;
          wake = seat_.wait();
        }
        if (wake == client::Wake::kSignal) check_signals();
        if (seat_.is_over()) return "";
        break;
      }
      case Taken::kLie:
        return kTooMany;
    }
  }
}

nb::object Worker::turn() {
  seat_.hear();
  Task task{};
  while (!seat_.is_over()) {
    switch (next(task)) {
      case Taken::kEntry: {
        const bool keeps_all_waiting = task.kind == TaskKind::kCall && !flies(task);
        if (const char* fault = serve(task)) return nb::str(fault);
        if (keeps_all_waiting) return nb::bool_(true);
        break;
      }
      case Taken::kNothing:
        if (seat_.await_ring()) return nb::none();
        break;
      case Taken::kLie:
        return nb::str(kTooMany);
    }
  }
  return nb::str("");
}

bool Worker::flies(const Task& task) const {
  return task.errand < errands_.size() && errands_[task.errand].in_flight > 0;
}

// A call that is to be alone waits for the end of all others, and the others wait for it.
bool Worker::may_serve(const Task& task) const {
  if (task.kind != TaskKind::kCall) return true;
  if (alone_ != 0) return false;
  if (task.is_alone != 0) return flights_.empty();
  if (!flies(task)) return true;
  const auto is_of_errand = [&](const auto& flight) { return flight.second.task.errand == task.errand; };
  return std::ranges::count_if(flights_, is_of_errand) < errands_[task.errand].in_flight;
}

// Tasks that wait come first, in their order, and no call goes past one that waits to be alone.
Taken Worker::next(Task& task) {
  bool waits_alone = false;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (at->kind == TaskKind::kCall && (waits_alone || !may_serve(*at))) {
      waits_alone = waits_alone || at->is_alone != 0;
      continue;
    }
    task = *at;
    waiting_.erase(at);
    return Taken::kEntry;
  }
  for (;;) {
    if (const Taken taken = seat_.take(task); taken != Taken::kEntry) return taken;
    if (task.kind != TaskKind::kCall || (!waits_alone && may_serve(task))) return Taken::kEntry;
    if (!wait_with(task)) return Taken::kLie;
    waits_alone = waits_alone || task.is_alone != 0;
  }
}

// False: the daemon hands out more than a worker can have.
bool Worker::wait_with(const Task& task) {
  if (waiting_.size() >= proto::crew::kPlaces) return false;
  waiting_.push_back(task);
  return true;
}

const char* Worker::serve(const Task& task) {
  switch (task.kind) {
    case TaskKind::kCall:
      if (const char* fault = fault_of(task)) return fault;
      if (lacks_slot(task)) return nullptr;
      if (errands_[task.errand].bunch > 0) return call_bunch(task);
      flies(task) ? launch(task) : call(task);
      return nullptr;
    case TaskKind::kRoom:
      return give_room(task);
    case TaskKind::kDrop: {
      const auto found = held_.find(task.number);
      if (found == held_.end()) return "it drops a result that does not wait";
      PyBuffer_Release(&found->second.view);
      held_.erase(found);
      end(task.number);
      return nullptr;
    }
    case TaskKind::kSlot:
      return seat_.take_slot(task);
    case TaskKind::kSlotGone:
      if (std::ranges::any_of(flights_, [&](const auto& flight) { return flight.second.task.slot == task.slot; }))
        return "it takes a slot away in which a call is to write";
      return seat_.drop_slot(task);
  }
  return "it sent a task of an unknown kind";
}

const char* Worker::fault_of(const Task& task) const {
  if (task.errand >= errands_.size()) return "it asks for an errand that there is not";
  const UserErrand& errand = errands_[task.errand];
  if (task.slot != 0) {
    const auto has_slot = seat_.has_slot(task.slot);
    if (!has_slot) return "it names a slot that it did not announce";
    if (!*has_slot) return nullptr;  // it is told so in place of a result
  }
  const bool is_sound =
      seat_.at(task.input) && room_of(task) && are_places_there(task) &&
      (!errand.takes.is_tensor || WorkerSeat::fits(task.input_shape, errand.takes.item_bytes, task.input.bytes));
  return is_sound ? nullptr : "it tells memory that there is not, or that does not fit its shape";
}

bool Worker::lacks_slot(const Task& task) {
  if (task.slot == 0 || seat_.has_slot(task.slot).value_or(false)) return false;
  Reply reply{};
  reply.number = task.number;
  reply.kind = proto::crew::ReplyKind::kNoSlot;
  seat_.reply(reply);
  return true;
}

uint8_t* Worker::room_of(const Task& task) const {
  const bool is_in_slot = task.slot != 0 && !errands_[task.errand].form;
  return is_in_slot ? seat_.in_slot(task.slot, task.room) : seat_.at(task.room);
}

std::optional<uint8_t*> Worker::place_of(const Task& task, size_t field) const {
  if (task.slot == 0 || field >= proto::crew::kPlacedMax || task.value_at[field] == proto::crew::kInRecord)
    return nullptr;
  const uint64_t bytes = errands_[task.errand].form->value_bytes(field);
  uint8_t* const place = bytes > 0 ? seat_.in_slot(task.slot, {task.value_at[field], bytes}) : nullptr;
  return place ? std::optional(place) : std::nullopt;
}

bool Worker::are_places_there(const Task& task) const {
  const RecordForm* const form = errands_[task.errand].form.get();
  for (size_t i = 0; form && i < form->fields(); ++i)
    if (!place_of(task, i)) return false;
  return true;
}

void Worker::begin(const Task& task) {
  seat_.begin(task, errands_[task.errand].in_flight);
  if (task.is_alone != 0) alone_ = task.number;
}

void Worker::end(uint64_t number) {
  if (alone_ == number) alone_ = 0;
}

const char* Worker::give_room(const Task& task) {
  const auto found = held_.find(task.number);
  uint8_t* const room = seat_.at(task.room);
  if (found == held_.end() || !room || task.room.bytes < found->second.reply.bytes)
    return "it gives room for a result that does not wait, or too little of it";
  Held held = found->second;
  held_.erase(found);
  std::memcpy(room, held.view.buf, held.reply.bytes);
  PyBuffer_Release(&held.view);
  held.reply.kind = ReplyKind::kDone;
  end(task.number);
  seat_.reply(held.reply);
  return nullptr;
}

void bind_worker(nb::module_& module) {
  nb::class_<Worker>(module, "Worker")
      .def(
          "__init__",
          [](Worker* self, const nb::list& errands, const nb::object& told, const nb::object& ndarray,
             const nb::object& randomness) { new (self) Worker(errands_of(errands), told, ndarray, randomness); },
          "errands"_a, "told"_a, "ndarray"_a.none(), "randomness"_a)
      .def("sit_down", &Worker::sit_down, "ring"_a, "bell"_a, "scratch"_a, "scratch_bytes"_a)
      .def("run", &Worker::run)
      .def("fly_with", &Worker::fly_with, "launch"_a)
      .def_prop_ro("bell", &Worker::bell)
      .def("turn", &Worker::turn)
      .def("land", &Worker::land, "number"_a, "value"_a.none(), "operation"_a)
      .def("fail", &Worker::fail, "number"_a, "error"_a, "operation"_a)
      .attr("__module__") = "spdld._spdld";
}

}  // namespace spdld::python
