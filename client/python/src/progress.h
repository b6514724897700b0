// What Python sees of a line of progress (client/text/progress.h). With the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace spdld::python {

void bind_progress(nanobind::module_& module);

}  // namespace spdld::python
