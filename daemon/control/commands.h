// The table of commands: when each message is allowed, and the function that answers it.
#pragma once

#include "daemon/control/session.h"

namespace spdld::control {

struct Command {
  proto::Body body;
  bool needs_hello;  // false: allowed only as the first message
  void (Session::*handle)(const proto::Message&);

  // nullptr: clients don't send this.
  static const Command* find(proto::Body body);
};

}  // namespace spdld::control
