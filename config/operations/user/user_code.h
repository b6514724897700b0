// The parts of operations that run code of the user's own. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "config/operation.h"

namespace spdld::config::ops {

// `code`: the digest of what runs, which the client library fills in.
Parameter code_parameter(std::string_view help);
void check_code(const OperationSpec& spec, const Complain& complain);

// `gives`: what the user's code gives for a sample.
Parameter gives_parameter(std::string_view help);
std::string bind_gives(const OperationSpec& spec, Signature& signature);

}  // namespace spdld::config::ops
