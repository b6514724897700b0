// An HTTP server for a few clients of this machine: GET and HEAD, on a thread of its own, so that a client that is slow
// or wishes ill delays nobody else. Answers of routes are made on the control thread, which hears of a request only
// when it is whole and allowed. Boost.Beast stands behind this header.
//
// Made and destroyed on the control thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/system/event_loop.h"
#include "daemon/http/answer.h"
#include "proto/unique_fd.h"

namespace spdld::http {

// A connection beyond the greatest number takes the place of the connection that has kept the server waiting longest.
struct Limits {
  size_t connections_max = 32;
  uint32_t header_bytes_max = 8 * 1024;
  std::chrono::milliseconds header_max{5'000};  // from a request's first byte, or from the connection's start
  std::chrono::milliseconds idle_max{30'000};   // between requests
  std::chrono::milliseconds answer_max{10'000};
  std::chrono::milliseconds write_max{10'000};
};

struct Settings {
  UniqueFd listener;       // a listening stream socket, not blocking
  std::string token = {};  // empty: every client that can connect may ask for everything
  std::vector<Route> routes = {};
  Limits limits = {};
};

class HttpServer {
 public:
  // `loop` is the control thread's, and outlives the server. Throws std::system_error where the thread can't begin.
  HttpServer(EventLoop& loop, Settings settings);
  // Ends all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace spdld::http
