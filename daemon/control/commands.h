// The table of commands: which message is allowed when, and who answers it.
#pragma once

#include "daemon/control/session.h"

namespace spdld::control {

struct Command {
  proto::Body body;
  bool needs_hello;  // else it is only allowed as the first message
  void (Session::*handle)(const proto::Message&);

  // nullptr: clients don't send this.
  static const Command* find(proto::Body body);
};

}  // namespace spdld::control
