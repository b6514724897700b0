// Turns the library's results into Python's exceptions. With the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <spdld.h>

#include <string>

namespace spdld::python {

// The text, which may hold a file's name that is not UTF-8.
nanobind::object text_of(const std::string& bytes);
// Throws nanobind's python_error: the class of spdld._errors that stands for this result.
[[noreturn]] void raise(spdld_result result, const std::string& sentence);
// Gives a spdld.SpdldWarning at the line of the caller's program; throws where the program has turned warnings into
// errors.
void warn(const std::string& sentence);
// Raises the error of the calling thread's last failed call.
[[noreturn]] void raise_last(spdld_result result);
// Runs Python's signal handlers; throws what they raise (KeyboardInterrupt).
void check_signals();

}  // namespace spdld::python
