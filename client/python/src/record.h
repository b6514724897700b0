// The values that a user's code gives, as the bytes that go to the daemon: one array, bytes, or the record of an item
// of a data set (PROTOCOL.md, "Crews"). With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spdld::python {

// The values of one kind that an errand takes or gives.
struct ValueKind {
  bool is_tensor = false;
  nanobind::object dtype = {};  // of a tensor: numpy's
  uint64_t item_bytes = 1;
  std::vector<int64_t> shape = {};  // of a tensor that is given; -1: differs from sample to sample

  uint64_t bytes() const;  // of a tensor of one shape; else 0
};

// (dtype, item_bytes, shape) of a tensor, or None for bytes.
ValueKind kind_of(const nanobind::handle& told);

// The buffer of a value as `gives` wants it. Where the value is not such an array or bytes, it is replaced by what
// `fit` makes of it. Throws what `fit` raises. The view is the caller's to release.
template <typename Fit>
Py_buffer view_of(const ValueKind& gives, nanobind::handle ndarray, nanobind::object& value, Fit fit);

// The bytes of a record, which still lie where the user's code has put them.
class Record {
 public:
  Record() = default;
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  uint64_t bytes() const { return bytes_; }
  void write(uint8_t* to) const;  // and the values that lie elsewhere

 private:
  friend class RecordForm;
  struct RecordPart {
    Py_buffer view;
    uint64_t at;
    uint8_t* elsewhere;  // null: it lies in the record
  };
  void begin_value();  // at the next multiple of 64
  void add(const Py_buffer& view);
  bool add_number(PyObject* value, char scalar);

  std::vector<uint64_t> table_;  // how many bytes each value has
  std::vector<RecordPart> parts_;
  std::deque<uint64_t> numbers_;  // of parts that no object of Python's holds
  uint8_t* elsewhere_ = nullptr;  // of the value that is added
  uint64_t bytes_ = 0;
};

struct RecordField {
  std::string name;
  ValueKind kind;
  nanobind::object fit;  // called with a value and the item's index
  char scalar = 0;       // 'i', 'd' or '?': a number of Python's own fits; 0: it is looked at
};

// The fields that each item of a data set is to have.
class RecordForm {
 public:
  // `refuse`: called with the item's index, a field's name, and the value that has no field (None: the field has no
  // value); raises. `pieces`: the type of a value of several buffers. Each buffer begins at a multiple of 64, and so
  // does the value behind the last one. `mapping`: the abstract type of mappings.
  RecordForm(std::vector<RecordField> fields, nanobind::object refuse, nanobind::object pieces,
             nanobind::object mapping);

  // Throws what `fit` and `refuse` raise. `places`: by field, for the first ones: where its value is to lie, in place
  // of the record; null: in the record. Such fields have one shape.
  void take(const nanobind::object& item, uint64_t index, nanobind::handle ndarray, std::span<uint8_t* const> places,
            Record& record) const;
  size_t fields() const { return fields_.size(); }
  // Of each value; 0: they differ.
  uint64_t value_bytes(size_t field) const { return fields_[field].kind.bytes(); }

 private:
  struct Walk;
  static bool is_of(const Record::RecordPart& part, const ValueKind& kind);
  bool is_mapping(PyObject* value) const;
  void walk(Walk& at, const nanobind::object& value) const;
  void walk_into(Walk& at, nanobind::handle key, const nanobind::object& value) const;
  void add(const RecordField& field, nanobind::object value, const Walk& at, nanobind::handle ndarray,
           Record& record) const;

  const std::vector<RecordField> fields_;
  std::unordered_map<std::string_view, size_t> places_;  // by name
  const nanobind::object refuse_, pieces_, mapping_;
};

// Python's objects and errors as nanobind's.
inline nanobind::object checked(PyObject* made) {
  if (!made) throw nanobind::python_error();
  return nanobind::steal(made);
}

bool has_shape(const Py_buffer& view, const std::vector<int64_t>& shape);

template <typename Fit>
Py_buffer view_of(const ValueKind& gives, nanobind::handle ndarray, nanobind::object& value, Fit fit) {
  static PyObject* const kDtype = PyUnicode_InternFromString("dtype");
  constexpr int kArray = PyBUF_C_CONTIGUOUS;
  Py_buffer view{};
  if (!gives.is_tensor && PyBytes_CheckExact(value.ptr())) {
    if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
    return view;
  }
  if (gives.is_tensor && Py_TYPE(value.ptr()) == reinterpret_cast<PyTypeObject*>(ndarray.ptr())) {
    const nanobind::object dtype = checked(PyObject_GetAttr(value.ptr(), kDtype));
    if (dtype.ptr() == gives.dtype.ptr()) {
      if (PyObject_GetBuffer(value.ptr(), &view, kArray) != 0) {
        PyErr_Clear();  // its elements lie in another order
      } else if (has_shape(view, gives.shape)) {
        return view;
      } else {
        PyBuffer_Release(&view);
      }
    }
  }
  value = fit(value);
  if (PyObject_GetBuffer(value.ptr(), &view, gives.is_tensor ? kArray : PyBUF_SIMPLE) != 0)
    throw nanobind::python_error();
  return view;
}

}  // namespace spdld::python
