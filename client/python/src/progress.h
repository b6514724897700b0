// The progress line (client/text/progress.h) for Python. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace spdld::python {

void bind_progress(nanobind::module_& module);

}  // namespace spdld::python
