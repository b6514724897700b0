// The parts of the extension for the processes of a crew (spdld._crew).
#pragma once

#include <nanobind/nanobind.h>

namespace spdld::python {

void bind_crew_link(nanobind::module_& module);
void bind_plugin(nanobind::module_& module);
void bind_worker(nanobind::module_& module);

}  // namespace spdld::python
