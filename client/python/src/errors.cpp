#include "client/python/src/errors.h"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace spdld::python {

namespace {

const char* class_of(spdld_result result) {
  switch (result) {
    case SPDLD_TIMEOUT:
      return "TimeoutError";
    case SPDLD_INVALID:
      return "InvalidError";
    case SPDLD_NO_DAEMON:
      return "NoDaemonError";
    case SPDLD_DENIED:
      return "DeniedError";
    case SPDLD_NOT_FOUND:
      return "NotFoundError";
    case SPDLD_CONFLICT:
      return "ConflictError";
    case SPDLD_CHANGED:
      return "ChangedError";
    case SPDLD_LIMIT:
      return "LimitError";
    case SPDLD_VERSION:
      return "VersionError";
    case SPDLD_FAILED:
      return "FailedError";
    case SPDLD_UNSUPPORTED:
      return "UnsupportedError";
    case SPDLD_FORKED:
      return "ForkedError";
    case SPDLD_OK:
    case SPDLD_END_OF_EPOCH:
    case SPDLD_END:
    case SPDLD_INTERRUPTED:
    case SPDLD_INTERNAL:
      break;
  }
  return "Error";
}

}  // namespace

nb::object text_of(const std::string& bytes) {
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  nb::object text = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), size, "backslashreplace"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

void raise(spdld_result result, const std::string& sentence) {
  const nb::object type = nb::module_::import_("spdld._errors").attr(class_of(result));
  PyErr_SetObject(type.ptr(), text_of(sentence).ptr());
  throw nb::python_error();
}

void warn(const std::string& sentence) { nb::module_::import_("spdld._errors").attr("warn")(text_of(sentence)); }

void raise_last(spdld_result result) { raise(result, spdld_last_error()); }

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace spdld::python
