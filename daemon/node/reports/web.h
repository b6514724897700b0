// The routes of the HTTP server that answer from the node's state: metrics, the page, and the documents that the page
// draws. Control thread.
#pragma once

#include <functional>
#include <vector>

#include "daemon/http/answer.h"
#include "daemon/node/reports/state.h"

namespace spdld::node {

// `state` gives the node's state, on the control thread. `page`: with the page and its documents, in which everything
// shows that root may see.
std::vector<http::Route> web_routes(std::function<State()> state, bool page);

}  // namespace spdld::node
