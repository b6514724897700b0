// Turns errno into the kind of trouble, and into words. Any thread.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace spdld::source {

// The kind of trouble that an errno of opening or reading is for a sample. An error that is not known to be the file's
// own fault counts as transient: the daemon waits, and never takes another sample instead.
Trouble content_trouble(int error_number);
// The kind of trouble that an errno is at set-up, where nothing is waited for: kNotFound, kDenied, kUsage, kMemory or
// kTransient.
Trouble setup_trouble(int error_number);
// "No such file or directory"
std::string error_words(int error_number);

}  // namespace spdld::source
