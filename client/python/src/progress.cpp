#include "client/python/src/progress.h"

#include <nanobind/stl/string.h>

#include "client/text/progress.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace spdld::python {

void bind_progress(nb::module_& module) {
  nb::class_<text::ProgressLine>(module, "ProgressLine")
      .def(nb::init<std::string>(), "head"_a)
      .def(
          "show",
          [](text::ProgressLine& self, const std::string& what, uint64_t done, uint64_t total, double now_s,
             size_t columns) { return self.show(text::progress_of(what, done, total), now_s, columns); },
          "what"_a, "done"_a, "total"_a, "now"_a, "columns"_a,
          "Returns the text that a program writes to a terminal with this number of columns. The text is often empty.")
      .def("clear", &text::ProgressLine::clear, "Returns the text that removes the line from the terminal.");
}

}  // namespace spdld::python
