// Reads the pipeline that spdld_attach is given: a name, a text, or a file that holds the text.
#pragma once

#include "client/src/attaching.h"

namespace spdld::client {

// Fills the pipeline or the spec of a request, with its folder as an absolute path. Arguments as in
// spdld_attach_options; relative paths are taken from the current directory.
CallOutcome read_pipeline(const spdld_attach_options& options, AttachRequest& request);

}  // namespace spdld::client
