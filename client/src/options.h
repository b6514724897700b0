// spdld_attach_options from a caller of any version, checked, with every default decided.
#pragma once

#include "client/src/loader.h"

namespace spdld::client {

// Copies the fields that both sides know. SPDLD_UNSUPPORTED: a newer caller has set a field that this library does not
// know.
CallOutcome copy_options(const spdld_attach_options* given, spdld_attach_options& options);

// Reads the environment, the pipeline's file, and finds the socket.
CallOutcome settings_from(const spdld_attach_options& options, LoaderSettings& settings);

}  // namespace spdld::client
