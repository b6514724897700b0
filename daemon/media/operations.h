// The function of each operation of config/operations.inc: it adds the operation's code to a chain, as a node of
// its own or as a part of the last node. Each stands in NAME.cpp below daemon/media/MEDIUM. May throw SetupError. The
// function of an operation that holds others is called behind theirs, and takes from the node what they have added to
// it.
#pragma once

#include "daemon/media/node.h"

namespace spdld::media::ops {

#define OPERATION(name, medium) void name(const PlacedOperation& placed, Nodes& nodes);
#define ERRAND_OPERATION(name, folder)
#include "config/operations.inc"
#undef OPERATION

}  // namespace spdld::media::ops
