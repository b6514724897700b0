// Answers, and the routes that give them. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/http/request.h"

namespace spdld::http {

inline constexpr std::string_view kText = "text/plain; charset=utf-8";
inline constexpr std::string_view kJson = "application/json";

// `type` and `policy` live as long as the program.
struct Answer {
  unsigned status = 200;
  std::string_view type = kText;
  std::string body = {};
  std::string_view policy = "default-src 'none'; frame-ancestors 'none'";  // Content-Security-Policy
};

inline Answer sentence(unsigned status, std::string text) { return {status, kText, std::move(text) + "\n"}; }

struct Route {
  enum class Thread : uint8_t {
    kControl,  // the answer is made on the control thread, and serves all who ask for the same within `kept_ms`
    kAny,      // it is made at once, on the server's thread
  };
  std::string_view path;
  std::function<Answer(const Request&)> answer;
  Thread thread = Thread::kControl;
  bool is_open = false;  // needs no token
  uint32_t kept_ms = 1000;
  std::vector<std::string_view> parameters = {};  // that the answer depends on; others of a request are passed over
};

}  // namespace spdld::http
