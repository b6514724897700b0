// The JSON documents that Query answers with (PROTOCOL.md, "Documents"). Control thread only.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/control/service.h"
#include "daemon/node/node.h"

namespace spdld::node {

Result<std::string> report(const Node::View& view, const control::Client& client, std::string_view topic,
                           std::string_view argument);

}  // namespace spdld::node
