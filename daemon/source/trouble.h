// errno, as the kind of trouble and the words for it. Any thread.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace spdld::source {

// What an errno of opening or reading means for a sample. What is not known to be the file's own fault counts as
// transient: it is waited for, and never replaced by another sample.
Trouble content_trouble(int error_number);
// The same at set-up, where nothing is waited for: kNotFound, kDenied, kUsage or kTransient.
Trouble setup_trouble(int error_number);
// "No such file or directory"
std::string error_words(int error_number);

}  // namespace spdld::source
