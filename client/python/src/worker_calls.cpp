// How a worker calls the user's functions, and what becomes of what they give.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/python/src/worker.h"

namespace nb = nanobind;

namespace spdld::python {

namespace {

using proto::crew::Reply;
using proto::crew::ReplyKind;
using proto::crew::Shape;
using proto::crew::Taken;
using proto::crew::Task;
using proto::crew::TaskKind;

constexpr int kResult = -1;  // in place of an operation: its errand's result

nb::object number_of(uint64_t number) { return checked(PyLong_FromUnsignedLongLong(number)); }

// `first`: a dimension before the others; negative: there is none.
nb::object shape_tuple(const Shape& shape, int64_t first = -1) {
  const uint32_t more = first < 0 ? 0 : 1;
  nb::object tuple = checked(PyTuple_New(shape.dimensions + more));
  if (more > 0) PyTuple_SET_ITEM(tuple.ptr(), 0, checked(PyLong_FromLongLong(first)).release().ptr());
  for (uint32_t i = 0; i < shape.dimensions; ++i)
    PyTuple_SET_ITEM(tuple.ptr(), i + more, checked(PyLong_FromLongLong(shape.sizes[i])).release().ptr());
  return tuple;
}

uint64_t ns_since(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
}

bool is_fixed(const ValueKind& kind) {
  return kind.is_tensor && std::ranges::all_of(kind.shape, [](int64_t size) { return size >= 0; });
}

nb::object bytes_of(const uint8_t* memory, uint64_t bytes) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(memory), static_cast<Py_ssize_t>(bytes)));
}

// `call_ns`: of a call of one function.
Reply reply_to(const Task& task, uint64_t call_ns) {
  Reply reply{};
  reply.number = task.number;
  reply.call_ns = reply.operation_ns[0] = call_ns;
  return reply;
}

}  // namespace

nb::object Worker::input_of(const Task& task, const uint8_t* memory) {
  const UserErrand& errand = errands_[task.errand];
  if (errand.form) return number_of(task.index);
  if (!errand.takes.is_tensor) return bytes_of(memory, task.input.bytes);
  const nb::object shape = shape_tuple(task.input_shape);
  const nb::object offset = number_of(task.input.bytes > 0 ? task.input.offset : 0);
  PyObject* const arguments[] = {shape.ptr(), errand.takes.dtype.ptr(), scratch_.ptr(), offset.ptr()};
  return checked(PyObject_Vectorcall(ndarray_.ptr(), arguments, 4, nullptr));
}

// `reply` takes the times, also of an operation that has failed.
nb::object Worker::run_operations(const Task& task, nb::object value, int& at, Reply& reply) {
  const auto start = Clock::now();
  const auto note_time = [&] {
    const uint64_t all_ns = ns_since(start);
    reply.operation_ns[std::min<size_t>(static_cast<size_t>(at), proto::crew::kOperationsTold - 1)] +=
        all_ns - reply.call_ns;
    reply.call_ns = all_ns;
  };
  for (const Operation& operation : errands_[task.errand].operations) {
    randomness_.reset(client::call_key(task.key, operation.salt));
    PyObject* const arguments[] = {value.ptr(), randomness_.rng.ptr()};
    PyObject* const given =
        PyObject_Vectorcall(operation.function.ptr(), arguments, 1, operation.takes_rng ? rng_name_.ptr() : nullptr);
    note_time();
    value = checked(given);
    if (value.is(drop_)) return value;
    ++at;
  }
  return value;
}

void Worker::call(const Task& task) {
  Reply reply = reply_to(task, 0);
  begin(task);
  int at = 0;
  try {
    nb::object value = run_operations(task, input_of(task, seat_.at(task.input)), at, reply);
    end_if_forked();
    if (value.is(drop_)) {
      leave_out(task, at, reply);
    } else {
      at = kResult;
      give(task, std::move(value), reply);
    }
  } catch (nb::python_error& error) {
    end_if_forked();
    refuse(task, error, at, reply);
  }
  seat_.publish(reply.call_ns);
}

void Worker::launch(const Task& task) {
  begin(task);
  flights_.emplace(task.number, Flight{task, Clock::now()});
  try {
    launch_(number_of(task.number), task.errand, input_of(task, seat_.at(task.input)), number_of(task.key));
  } catch (nb::python_error& error) {
    flights_.erase(task.number);
    refuse(task, error, 0, reply_to(task, 0));
    seat_.publish(0);
  }
}

// Of a call's time, only its share counts: as many calls as may be were under way meanwhile.
Task Worker::landed(uint64_t number, Reply& reply) {
  end_if_forked();
  const auto found = flights_.find(number);
  if (found == flights_.end()) throw nb::value_error("no such call is under way");
  const Flight flight = found->second;
  flights_.erase(found);
  const UserErrand& errand = errands_[flight.task.errand];
  reply = reply_to(flight.task, ns_since(flight.start) / errand.in_flight);
  if (errand.operations.size() > 1) reply.operation_ns[0] = 0;  // it is not known which of them took it
  return flight.task;
}

void Worker::land(uint64_t number, nb::object value, int operation) {
  Reply reply{};
  const Task task = landed(number, reply);
  try {
    value.is(drop_) ? leave_out(task, operation, reply) : give(task, std::move(value), reply);
  } catch (nb::python_error& error) {
    refuse(task, error, kResult, reply);
  }
  seat_.publish(reply.call_ns);
}

void Worker::fail(uint64_t number, const nb::object& error, int operation) {
  Reply reply{};
  const Task task = landed(number, reply);
  reply.kind = ReplyKind::kBad;
  end(number);
  seat_.prepare(reply, text_of(error, nb::none(), task, operation));
  seat_.publish(reply.call_ns);
}

// All that a daemon has handed out of the errand, up to a bunch. Other tasks than calls are served at once: news of a
// slot come before the calls that name it. Returns the daemon's fault, or nullptr.
const char* Worker::gather(const Task& first) {
  const size_t most = first.is_alone != 0 ? 1 : errands_[first.errand].bunch;
  const auto is_meant = [&](const Task& task) {
    return task.kind == TaskKind::kCall && task.errand == first.errand && task.is_alone == 0;
  };
  bunch_.assign(1, first);
  for (auto at = waiting_.begin(); at != waiting_.end() && bunch_.size() < most;) {
    if (is_meant(*at)) bunch_.push_back(*at);
    at = is_meant(*at) ? waiting_.erase(at) : std::next(at);
  }
  Task task{};
  while (bunch_.size() < most) {
    const Taken taken = seat_.take(task);
    if (taken == Taken::kNothing) break;
    if (taken == Taken::kLie) return kTooMany;
    if (is_meant(task)) {
      bunch_.push_back(task);
    } else if (task.kind != TaskKind::kCall) {
      if (const char* fault = serve(task)) return fault;
    } else if (!wait_with(task)) {
      return kTooMany;
    }
  }
  return nullptr;
}

// Copies of what tasks take: the function may write into them, and the samples may have to be called again.
// `is_stacked`: one array of all of them, which have one shape; else there is one task.
nb::object Worker::copied(const UserErrand& errand, std::span<const Task> tasks, bool is_stacked) const {
  const Task& first = tasks.front();
  if (!errand.takes.is_tensor) return bytes_of(seat_.at(first.input), first.input.bytes);
  const uint64_t bytes = first.input.bytes;
  const nb::object memory =
      checked(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes * tasks.size())));
  char* to = PyByteArray_AS_STRING(memory.ptr());
  for (const Task& task : tasks) {
    if (bytes > 0) std::memcpy(to, seat_.at(task.input), bytes);
    to += bytes;
  }
  const nb::object shape = shape_tuple(first.input_shape, is_stacked ? static_cast<int64_t>(tasks.size()) : -1);
  PyObject* const arguments[] = {shape.ptr(), errand.takes.dtype.ptr(), memory.ptr()};
  return checked(PyObject_Vectorcall(ndarray_.ptr(), arguments, 3, nullptr));
}

nb::object Worker::values_of_bunch(const UserErrand& errand) const {
  if (is_fixed(errand.takes)) return copied(errand, bunch_, true);
  nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(bunch_.size())));
  for (size_t i = 0; i < bunch_.size(); ++i)
    PyList_SET_ITEM(list.ptr(), i, copied(errand, std::span(&bunch_[i], 1), false).release().ptr());
  return list;
}

nb::object Worker::run_on_bunch(const UserErrand& errand, const nb::object& values) {
  const Operation& operation = errand.operations.front();
  randomness_.reset(client::call_key(bunch_.front().key, operation.salt));
  nb::object generators;
  if (operation.takes_rng) {
    generators = checked(PyList_New(static_cast<Py_ssize_t>(bunch_.size())));
    for (size_t i = 0; i < bunch_.size(); ++i)
      PyList_SET_ITEM(generators.ptr(), i,
                      randomness_.rng_at(i, client::call_key(bunch_[i].key, operation.salt)).release().ptr());
  }
  PyObject* const arguments[] = {values.ptr(), generators.ptr()};
  return checked(
      PyObject_Vectorcall(operation.function.ptr(), arguments, 1, operation.takes_rng ? rng_name_.ptr() : nullptr));
}

// The samples of a call that failed are to be called alone, and one that was alone is bad.
const char* Worker::call_bunch(const Task& first) {
  const UserErrand& errand = errands_[first.errand];
  if (const char* fault = gather(first)) return fault;
  for (const Task& task : bunch_)
    if (const char* fault = fault_of(task)) return fault;
  std::erase_if(bunch_, [&](const Task& task) { return lacks_slot(task); });
  if (bunch_.empty()) return nullptr;
  for (const Task& task : bunch_) begin(task);
  int at = 0;
  auto start = Clock::now();
  uint64_t call_ns = 0;
  try {
    const nb::object values = values_of_bunch(errand);
    start = Clock::now();
    const nb::object value = run_on_bunch(errand, values);
    end_if_forked();
    call_ns = ns_since(start);
    at = kResult;
    give_bunch(errand, value, call_ns / bunch_.size());
  } catch (nb::python_error& error) {
    end_if_forked();
    if (call_ns == 0) call_ns = ns_since(start);
    for (const Task& task : bunch_) {
      Reply reply = reply_to(task, call_ns / bunch_.size());
      reply.kind = ReplyKind::kAgain;
      task.is_alone != 0 ? refuse(task, error, at, reply) : seat_.prepare(reply);
    }
  }
  seat_.publish(call_ns);
  return nullptr;
}

// Throws before the first reply alone: what one sample got and does not fit is that sample's fault.
void Worker::give_bunch(const UserErrand& errand, const nb::object& value, uint64_t call_ns) {
  if (value.is(drop_)) {
    for (const Task& task : bunch_) leave_out(task, 0, reply_to(task, call_ns));
    return;
  }
  if (give_stacked(errand, value, call_ns)) return;
  const nb::object values = errand.split(value, bunch_.size());
  for (size_t i = 0; i < bunch_.size(); ++i) {
    const Reply reply = reply_to(bunch_[i], call_ns);
    try {
      const nb::object one(values[i]);
      one.is(drop_) ? leave_out(bunch_[i], 0, reply) : give(bunch_[i], one, reply);
    } catch (nb::python_error& error) {
      refuse(bunch_[i], error, kResult, reply);
    }
  }
}

// False: it is not one array as it is to be, with the samples' results behind one another.
bool Worker::give_stacked(const UserErrand& errand, const nb::object& value, uint64_t call_ns) {
  static PyObject* const kDtype = PyUnicode_InternFromString("dtype");
  const ValueKind& gives = errand.gives;
  if (!gives.is_tensor || Py_TYPE(value.ptr()) != reinterpret_cast<PyTypeObject*>(ndarray_.ptr())) return false;
  if (checked(PyObject_GetAttr(value.ptr(), kDtype)).ptr() != gives.dtype.ptr()) return false;
  Py_buffer view{};
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();  // its elements lie in another order
    return false;
  }
  Py_buffer part = view;
  bool fits = view.ndim > 0 && view.shape[0] == static_cast<Py_ssize_t>(bunch_.size());
  if (fits) {
    part.ndim--;
    part.shape++;
    part.len = view.len / view.shape[0];
    fits = has_shape(part, gives.shape);
  }
  for (size_t i = 0; fits && i < bunch_.size(); ++i) give_part(bunch_[i], part, i, call_ns);
  PyBuffer_Release(&view);
  return fits;
}

// `part`: the first of parts that have one shape.
void Worker::give_part(const Task& task, const Py_buffer& part, size_t number, uint64_t call_ns) {
  Reply reply = reply_to(task, call_ns);
  const auto bytes = static_cast<uint64_t>(part.len);
  const char* const from = static_cast<const char*>(part.buf) + number * bytes;
  reply.bytes = bytes;
  reply.shape.dimensions = static_cast<uint32_t>(part.ndim);
  std::copy_n(part.shape, part.ndim, reply.shape.sizes);
  if (bytes <= task.room.bytes) {
    if (bytes > 0) std::memmove(room_of(task), from, bytes);
    end(task.number);
    return seat_.prepare(reply);
  }
  try {
    reply.kind = ReplyKind::kNeedsRoom;
    const nb::object kept = bytes_of(reinterpret_cast<const uint8_t*>(from), bytes);
    Py_buffer view{};
    if (PyObject_GetBuffer(kept.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    hold(view, kept, reply);
    seat_.prepare(reply);
  } catch (nb::python_error& error) {
    refuse(task, error, kResult, reply_to(task, call_ns));
  }
}

void Worker::give(const Task& task, nb::object value, Reply reply) {
  const UserErrand& errand = errands_[task.errand];
  if (errand.form) return deliver_record(task, value, reply);
  const Py_buffer view = view_of(errand.gives, ndarray_, value, errand.fit);
  deliver(task, view, value, reply);
}

void Worker::deliver(const Task& task, Py_buffer view, const nb::object& value, Reply reply) {
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
    std::memmove(room_of(task), view.buf, reply.bytes);  // it may be a part of the input
    PyBuffer_Release(&view);
    end(task.number);
  }
  seat_.prepare(reply);
}

void Worker::deliver_record(const Task& task, const nb::object& item, Reply reply) {
  const RecordForm& form = *errands_[task.errand].form;
  places_.clear();
  for (size_t i = 0; i < std::min<size_t>(form.fields(), proto::crew::kPlacedMax); ++i)
    places_.push_back(place_of(task, i).value_or(nullptr));
  Record record;
  form.take(item, task.index, ndarray_, places_, record);
  end_if_forked();
  reply.bytes = record.bytes();
  reply.kind = reply.bytes > task.room.bytes ? ReplyKind::kNeedsRoom : ReplyKind::kDone;
  if (reply.kind == ReplyKind::kDone) {
    record.write(seat_.at(task.room));
    end(task.number);
  } else {  // a data set may keep an item, and change it until there is room
    const nb::object copy = checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(reply.bytes)));
    record.write(reinterpret_cast<uint8_t*>(PyBytes_AS_STRING(copy.ptr())));
    Py_buffer view{};
    if (PyObject_GetBuffer(copy.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    held_.emplace(reply.number, Held{view, reply});
  }
  seat_.prepare(reply);
}

void Worker::leave_out(const Task& task, int operation, Reply reply) {
  reply.kind = ReplyKind::kDropped;
  reply.bytes = static_cast<uint64_t>(operation);
  end(task.number);
  seat_.prepare(reply);
}

void Worker::refuse(const Task& task, const nb::python_error& error, int operation, Reply reply) {
  reply.kind = ReplyKind::kBad;
  end(task.number);
  seat_.prepare(reply, text_of(error, task, operation));
}

std::string Worker::text_of(const nb::python_error& error, const Task& task, int operation) const {
  const nb::object traceback = nb::borrow(error.traceback());
  return text_of(error.value(), traceback.is_valid() ? traceback : nb::none(), task, operation);
}

std::string Worker::text_of(nb::handle error, const nb::object& traceback, const Task& task, int operation) const {
  try {
    return nb::cast<std::string>(told_(error, traceback, task.errand, operation, task.index));
  } catch (const std::exception&) {
    return "it raised an exception that can't be told";
  }
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

}  // namespace spdld::python
