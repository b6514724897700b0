// Python objects that the library keeps for a while, such as the owner of a stream. The library lets go of an object on
// any thread, with or without the GIL. The object then waits here for the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace spdld::python {

// With the GIL: a reference that the library keeps. To be given to it together with let_go.
void* keep(nanobind::handle object);
// Any thread, with or without the GIL.
void let_go(void* kept) noexcept;
// With the GIL: drops the objects that the library has let go of. Python code may run in here.
void drop_objects_let_go();

}  // namespace spdld::python
