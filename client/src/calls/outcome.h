// How a call of the library ended: a result and, when it failed, one sentence for people. Cheap to pass when there is
// no sentence.
#pragma once

#include <spdld.h>

#include <string>
#include <system_error>
#include <utility>

#include "proto/message.h"

namespace spdld::client {

struct CallOutcome {
  spdld_result result = SPDLD_OK;
  std::string text = {};

  bool ok() const { return result == SPDLD_OK; }
};

inline CallOutcome failure(spdld_result result, std::string text) { return {result, std::move(text)}; }

inline spdld_result result_of(proto::ErrorCode code) {
  switch (code) {
    case proto::ErrorCode::version:
      return SPDLD_VERSION;
    case proto::ErrorCode::denied:
    case proto::ErrorCode::spec_refused:
      return SPDLD_DENIED;
    case proto::ErrorCode::not_found:
      return SPDLD_NOT_FOUND;
    case proto::ErrorCode::invalid:
      return SPDLD_INVALID;
    case proto::ErrorCode::limit:
      return SPDLD_LIMIT;
    case proto::ErrorCode::conflict:
      return SPDLD_CONFLICT;
    case proto::ErrorCode::changed:
      return SPDLD_CHANGED;
    case proto::ErrorCode::unsupported:
      return SPDLD_UNSUPPORTED;
    case proto::ErrorCode::failed:
    case proto::ErrorCode::lagged:
      return SPDLD_FAILED;
    case proto::ErrorCode::stopping:
      return SPDLD_NO_DAEMON;
    case proto::ErrorCode::none:
    case proto::ErrorCode::malformed:
    case proto::ErrorCode::unexpected:
    case proto::ErrorCode::internal:
      break;
  }
  return SPDLD_INTERNAL;
}

// The system's words for a value of errno.
inline std::string text_of_errno(int error) { return std::generic_category().message(error); }

}  // namespace spdld::client
