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
using proto::crew::Task;
using proto::crew::TaskKind;

// A process that a function has forked, and that comes back from the function, has no business with the daemon.
std::atomic<bool> is_forked{false};

void end_if_forked() {
  if (!is_forked) return;
  constexpr std::string_view kSentence =
      "spdld: a process that a Python operation had forked came back from the function, and was ended\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  ::_exit(1);
}

constexpr int kResult = -1;  // in place of an operation: its errand's result

nb::object shape_tuple(const proto::crew::Shape& shape) {
  nb::object tuple = checked(PyTuple_New(shape.dimensions));
  for (uint32_t i = 0; i < shape.dimensions; ++i)
    PyTuple_SET_ITEM(tuple.ptr(), i, checked(PyLong_FromLongLong(shape.sizes[i])).release().ptr());
  return tuple;
}

uint64_t ns_since(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
}

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

// [(takes, gives, [(function, place, takes_rng)], output, fit, form)]
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
  }
  return errands;
}

}  // namespace

Worker::Worker(std::vector<UserErrand> errands, nb::object told, nb::object ndarray, nb::object randomness)
    : errands_(std::move(errands)),
      told_(std::move(told)),
      ndarray_(std::move(ndarray)),
      randomness_object_(std::move(randomness)),
      randomness_(nb::cast<Randomness&>(randomness_object_)),
      rng_name_(nb::make_tuple("rng")) {}

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
    switch (seat_.take(task)) {
      case proto::crew::Taken::kEntry:
        if (const char* fault = serve(task)) return fault;
        break;
      case proto::crew::Taken::kNothing: {
        client::Wake wake = client::Wake::kReady;
        {
          const nb::gil_scoped_release released;
          wake = seat_.wait();
        }
        if (wake == client::Wake::kSignal) check_signals();
        if (seat_.is_over()) return "";
        break;
      }
      case proto::crew::Taken::kLie:
        return "it says that there are more tasks than a worker can have";
    }
  }
}

const char* Worker::serve(const Task& task) {
  switch (task.kind) {
    case TaskKind::kCall:
      return call(task);
    case TaskKind::kRoom:
      return give_room(task);
    case TaskKind::kDrop: {
      const auto found = held_.find(task.number);
      if (found == held_.end()) return "it drops a result that does not wait";
      PyBuffer_Release(&found->second.view);
      held_.erase(found);
      return nullptr;
    }
  }
  return "it sent a task of an unknown kind";
}

nb::object Worker::input_of(const Task& task, const uint8_t* memory) {
  const UserErrand& errand = errands_[task.errand];
  if (errand.form) return checked(PyLong_FromUnsignedLongLong(task.index));
  if (!errand.takes.is_tensor) {
    return checked(
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(memory), static_cast<Py_ssize_t>(task.input.bytes)));
  }
  const nb::object shape = shape_tuple(task.input_shape);
  const nb::object offset = checked(PyLong_FromUnsignedLongLong(task.input.bytes > 0 ? task.input.offset : 0));
  PyObject* const arguments[] = {shape.ptr(), errand.takes.dtype.ptr(), scratch_.ptr(), offset.ptr()};
  return checked(PyObject_Vectorcall(ndarray_.ptr(), arguments, 4, nullptr));
}

nb::object Worker::run_operations(const UserErrand& errand, uint64_t key, nb::object value, int& at) {
  for (const Operation& operation : errand.operations) {
    randomness_.reset(client::call_key(key, operation.salt));
    PyObject* const arguments[] = {value.ptr(), randomness_.rng.ptr()};
    value = checked(
        PyObject_Vectorcall(operation.function.ptr(), arguments, 1, operation.takes_rng ? rng_name_.ptr() : nullptr));
    ++at;
  }
  return value;
}

std::string Worker::text_of(nb::python_error& error, const Task& task, int operation) const {
  try {
    const nb::object traceback = error.traceback();
    return nb::cast<std::string>(
        told_(error.value(), traceback.is_valid() ? traceback : nb::none(), task.errand, operation, task.index));
  } catch (const std::exception&) {
    return "it raised an exception that can't be told";
  }
}

const char* Worker::call(const Task& task) {
  if (task.errand >= errands_.size()) return "it asks for an errand that there is not";
  const UserErrand& errand = errands_[task.errand];
  const uint8_t* const memory = seat_.at(task.input);
  const bool is_sound =
      memory && seat_.at(task.room) &&
      (!errand.takes.is_tensor || WorkerSeat::fits(task.input_shape, errand.takes.item_bytes, task.input.bytes));
  if (!is_sound) return "it tells memory that there is not, or that does not fit its shape";
  Reply reply{};
  reply.number = task.number;
  seat_.begin(task);
  int at = 0;
  auto start = std::chrono::steady_clock::now();
  bool is_timed = false;
  try {
    nb::object value = input_of(task, memory);
    start = std::chrono::steady_clock::now();
    value = run_operations(errand, task.key, std::move(value), at);
    end_if_forked();
    reply.call_ns = ns_since(start);
    is_timed = true;
    at = kResult;
    if (errand.form) return deliver_record(task, value, reply);
    const Py_buffer view = view_of(errand.gives, ndarray_, value, errand.fit);
    return deliver(task, view, value, reply);
  } catch (nb::python_error& error) {
    end_if_forked();
    if (!is_timed) reply.call_ns = ns_since(start);
    reply.kind = ReplyKind::kBad;
    seat_.reply(reply, text_of(error, task, at));
  }
  return nullptr;
}

const char* Worker::deliver(const Task& task, Py_buffer view, const nb::object& value, Reply reply) {
  reply.bytes = static_cast<uint64_t>(view.len);
  if (errands_[task.errand].gives.is_tensor) {
    reply.shape.dimensions = static_cast<uint32_t>(view.ndim);
    std::copy_n(view.shape, view.ndim, reply.shape.sizes);
  }
  if (reply.bytes > task.room.bytes) {
    reply.kind = ReplyKind::kNeedsRoom;
    hold(view, value, reply);
  } else {
    reply.kind = ReplyKind::kDone;
    std::memmove(seat_.at(task.room), view.buf, reply.bytes);  // it may be a part of the input
    PyBuffer_Release(&view);
  }
  seat_.reply(reply);
  return nullptr;
}

const char* Worker::deliver_record(const Task& task, const nb::object& item, Reply reply) {
  Record record;
  errands_[task.errand].form->take(item, task.index, ndarray_, record);
  end_if_forked();
  reply.bytes = record.bytes();
  reply.kind = reply.bytes > task.room.bytes ? ReplyKind::kNeedsRoom : ReplyKind::kDone;
  if (reply.kind == ReplyKind::kDone) {
    record.write(seat_.at(task.room));
  } else {  // a data set may keep an item, and change it until there is room
    const nb::object copy = checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(reply.bytes)));
    record.write(reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(copy.ptr())));
    Py_buffer view{};
    if (PyObject_GetBuffer(copy.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    held_.emplace(reply.number, Held{view, reply});
  }
  seat_.reply(reply);
  return nullptr;
}

// The input is the daemon's again with the reply, and a function may write into what it gave once more.
void Worker::hold(Py_buffer view, const nb::object& value, const Reply& reply) {
  const auto scratch = seat_.scratch();
  const auto* const first = static_cast<const uint8_t*>(view.buf);
  const bool is_inside = first >= scratch.data() && first < scratch.data() + scratch.size();
#ifdef Py_GIL_DISABLED
  constexpr bool kCounts = false;  // a count of references says nothing there
#else
  constexpr bool kCounts = true;
#endif
  const bool is_own = PyBytes_CheckExact(value.ptr()) ||
                      (kCounts && !is_inside && Py_REFCNT(value.ptr()) == 2 &&
                       PyObject_HasAttrString(value.ptr(), "base") && nb::object(value.attr("base")).is_none());
  if (!is_own) {
    PyObject* const copy = PyBytes_FromStringAndSize(static_cast<const char*>(view.buf), view.len);
    PyBuffer_Release(&view);
    const nb::object kept = checked(copy);
    if (PyObject_GetBuffer(kept.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  held_.emplace(reply.number, Held{view, reply});
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
      .attr("__module__") = "spdld._spdld";
}

}  // namespace spdld::python
