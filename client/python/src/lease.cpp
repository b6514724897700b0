#include "client/python/src/lease.h"

#include <nanobind/nanobind.h>

#include <memory>

namespace nb = nanobind;

namespace spdld::python {

namespace {

// A framework's thread may drop a tensor without the GIL, and after the interpreter's end.
bool holds_gil() { return Py_IsInitialized() && nb::is_alive() && PyGILState_Check(); }

void release_without_gil(spdld_batch* batch) {
  if (!holds_gil()) return spdld_batch_release(batch);
  const nb::gil_scoped_release released;
  spdld_batch_release(batch);
}

}  // namespace

spdld::Batch hold(spdld_batch* batch, bool follows_gpu) {
  return follows_gpu ? spdld::Batch(std::shared_ptr<spdld_batch>(batch, &release_without_gil)) : spdld::Batch(batch);
}

}  // namespace spdld::python
