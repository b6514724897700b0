#include "client/python/src/record.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "proto/crew/record.h"

namespace nb = nanobind;

namespace spdld::python {

bool has_shape(const Py_buffer& view, const std::vector<int64_t>& shape) {
  if (view.ndim != static_cast<int>(shape.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] >= 0 && shape[i] != view.shape[i]) return false;
  return true;
}

ValueKind kind_of(const nb::handle& told) {
  if (told.is_none()) return {};
  return {true, nb::borrow(told[0]), nb::cast<uint64_t>(told[1]), nb::cast<std::vector<int64_t>>(told[2])};
}

uint64_t ValueKind::bytes() const {
  uint64_t bytes = is_tensor ? item_bytes : 0;
  for (const int64_t size : shape) bytes *= static_cast<uint64_t>(std::max<int64_t>(size, 0));
  return bytes;
}

Record::~Record() {
  for (RecordPart& part : parts_) PyBuffer_Release(&part.view);
}

void Record::begin_value() { bytes_ = proto::crew::aligned_value(bytes_); }

void Record::add(const Py_buffer& view) {
  parts_.push_back({view, bytes_, elsewhere_});
  if (elsewhere_ == nullptr) bytes_ += static_cast<uint64_t>(view.len);
}

bool Record::add_number(PyObject* value, char scalar) {
  uint64_t bits = 0;
  Py_buffer view{};
  if (scalar == 'i' && PyLong_CheckExact(value)) {
    int overflows = 0;
    bits = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(value, &overflows));
    if (overflows != 0) return false;
    view.len = sizeof bits;
  } else if (scalar == 'd' && PyFloat_CheckExact(value)) {
    bits = std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value));
    view.len = sizeof bits;
  } else if (scalar == '?' && PyBool_Check(value)) {
    bits = value == Py_True ? 1 : 0;
    view.len = 1;
  } else {
    return false;
  }
  view.buf = &numbers_.emplace_back(bits);
  add(view);
  return true;
}

// The memory between the values is another sample's from before: nothing of it is to be seen in this record.
void Record::write(uint8_t* to) const {
  const uint64_t table_bytes = table_.size() * sizeof(uint64_t);
  std::memcpy(to, table_.data(), table_bytes);
  uint64_t end = table_bytes;
  for (const RecordPart& part : parts_) {
    const auto bytes = static_cast<size_t>(part.view.len);
    if (part.elsewhere != nullptr) {
      if (bytes > 0) std::memmove(part.elsewhere, part.view.buf, bytes);
      continue;
    }
    std::memset(to + end, 0, part.at - end);
    if (bytes > 0) std::memmove(to + part.at, part.view.buf, bytes);
    end = part.at + bytes;
  }
  std::memset(to + end, 0, bytes_ - end);
}

struct RecordForm::Walk {
  uint64_t index;
  std::string name;               // of the value that is looked at: its keys, joined with dots
  std::vector<nb::object> found;  // by field
};

RecordForm::RecordForm(std::vector<RecordField> fields, nb::object refuse, nb::object pieces, nb::object mapping)
    : fields_(std::move(fields)), refuse_(std::move(refuse)), pieces_(std::move(pieces)), mapping_(std::move(mapping)) {
  for (size_t i = 0; i < fields_.size(); ++i) places_.emplace(fields_[i].name, i);
}

void RecordForm::take(const nb::object& item, uint64_t index, nb::handle ndarray, std::span<uint8_t* const> places,
                      Record& record) const {
  Walk at{index, {}, std::vector<nb::object>(fields_.size())};
  walk(at, item);
  record.table_.resize(fields_.size());
  record.bytes_ = fields_.size() * sizeof(uint64_t);
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (!at.found[i].is_valid()) refuse_(index, fields_[i].name, nb::none());
    record.begin_value();
    record.elsewhere_ = i < places.size() ? places[i] : nullptr;
    const uint64_t start = record.bytes_;
    const size_t parts = record.parts_.size();
    add(fields_[i], at.found[i], at, ndarray, record);
    if (record.elsewhere_ && !(record.parts_.size() == parts + 1 && is_of(record.parts_.back(), fields_[i].kind)))
      throw std::length_error("a value has another size than its place in the batch");
    record.table_[i] = record.bytes_ - start;
  }
}

bool RecordForm::is_of(const Record::RecordPart& part, const ValueKind& kind) {
  return static_cast<uint64_t>(part.view.len) == kind.bytes();
}

bool RecordForm::is_mapping(PyObject* value) const {
  if (PyDict_Check(value)) return true;
  const int is_instance = PyObject_IsInstance(value, mapping_.ptr());
  if (is_instance < 0) throw nb::python_error();
  return is_instance == 1;
}

// A container that has a field of its own is a value, but for the whole item.
void RecordForm::walk(Walk& at, const nb::object& value) const {
  PyObject* const object = value.ptr();
  const bool is_whole = at.name.empty();
  const bool is_sequence = PyTuple_Check(object) || PyList_Check(object);
  const auto place = places_.find(is_whole ? std::string_view("value") : std::string_view(at.name));
  if (place != places_.end() && !(is_whole && (is_sequence || is_mapping(object)))) {
    at.found[place->second] = value;
  } else if (is_sequence) {
    const Py_ssize_t count = PySequence_Size(object);
    for (Py_ssize_t i = 0; i < count; ++i)
      walk_into(at, checked(PyLong_FromSsize_t(i)), checked(PySequence_GetItem(object, i)));
  } else if (is_mapping(object)) {
    const nb::object items = checked(PyMapping_Items(object));
    for (const nb::handle entry : nb::borrow<nb::list>(items)) walk_into(at, entry[0], nb::borrow(entry[1]));
  } else {
    refuse_(at.index, is_whole ? "value" : at.name.c_str(), value);
  }
}

void RecordForm::walk_into(Walk& at, nb::handle key, const nb::object& value) const {
  const size_t length = at.name.size();
  const nb::object text = PyUnicode_Check(key.ptr()) ? nb::borrow(key) : checked(PyObject_Str(key.ptr()));
  Py_ssize_t bytes = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &bytes);
  if (!utf8) throw nb::python_error();
  if (length > 0) at.name += '.';
  at.name.append(utf8, static_cast<size_t>(bytes));
  if (Py_EnterRecursiveCall(" in an item of a data set") != 0) throw nb::python_error();
  try {
    walk(at, value);
  } catch (...) {
    Py_LeaveRecursiveCall();
    throw;
  }
  Py_LeaveRecursiveCall();
  at.name.resize(length);
}

void RecordForm::add(const RecordField& field, nb::object value, const Walk& at, nb::handle ndarray,
                     Record& record) const {
  if (field.scalar != 0 && record.add_number(value.ptr(), field.scalar)) return;
  if (field.kind.is_tensor || Py_TYPE(value.ptr()) != reinterpret_cast<PyTypeObject*>(pieces_.ptr())) {
    record.add(view_of(field.kind, ndarray, value,
                       [&](const nb::object& unfit) { return nb::object(field.fit(unfit, at.index)); }));
    return;
  }
  for (const nb::handle piece : nb::borrow<nb::tuple>(value)) {
    Py_buffer view{};
    if (PyObject_GetBuffer(piece.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
    record.begin_value();
    record.add(view);
  }
  record.begin_value();
}

}  // namespace spdld::python
