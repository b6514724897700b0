#include "daemon/node/monitoring.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <random>
#include <utility>

#include "config/text/http_address.h"
#include "daemon/base/result.h"
#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "daemon/http/listener.h"
#include "daemon/http/token.h"

namespace spdld::node {
namespace {

std::string made_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 8; i++) {
    std::array<char, 9> word{};
    std::snprintf(word.data(), word.size(), "%08x", random());
    token += word.data();
  }
  return token;
}

}  // namespace

Monitoring::Monitoring(EventLoop& loop, const config::DaemonSettings& settings, UniqueFd passed)
    : loop_(loop), settings_(settings), passed_(std::move(passed)), health_(monotonic_ns()) {}

Monitoring::~Monitoring() = default;

void Monitoring::start(Routes routes) {
  routes_ = std::move(routes);
  wanted_ = !settings_.http_listen.empty();
  if (!wanted_ && passed_)
    log::warn("spdld-http.socket is enabled, but [http] listen is not set: nobody is answered there");
  if (wanted_) try_start(monotonic_ns());
}

void Monitoring::tick(uint64_t now_ns) {
  health_.note_life(now_ns);
  if (wanted_ && !server_ && now_ns - tried_ns_ >= kRetryNs) try_start(now_ns);
}

void Monitoring::drain(const std::string& why) {
  health_.set_refusal(why);
  wanted_ = false;
  if (!own_path_.empty()) ::unlink(std::exchange(own_path_, "").c_str());
}

std::vector<http::Route> Monitoring::all_routes(bool page) const {
  std::vector<http::Route> routes = routes_(page);
  const auto add = [&](const char* path, auto answer) {
    routes.push_back({.path = path, .answer = answer, .thread = http::Route::Thread::kAny, .is_open = true});
  };
  add("/livez", [this](const http::Request&) { return health_.live(monotonic_ns()); });
  add("/readyz", [this](const http::Request&) { return health_.ready(monotonic_ns()); });
  return routes;
}

UniqueFd Monitoring::listener() {
  if (passed_) {
    const auto address = http::address_of(passed_.get());
    if (!address)
      throw SetupError(Trouble::kUsage,
                       "spdld-http.socket must listen at 127.0.0.1, at [::1] or at a Unix socket's path");
    address_ = address->text();
    return std::move(passed_);
  }
  const auto wanted = config::parse_http_address(settings_.http_listen);
  if (!wanted.address) throw SetupError(Trouble::kUsage, "http.listen " + wanted.error);
  UniqueFd socket = http::listen_at(*wanted.address, settings_.http_socket_mode);
  own_path_ = wanted.address->path;
  address_ = http::address_of(socket.get()).value_or(*wanted.address).text();
  return socket;
}

void Monitoring::serve(UniqueFd listener, const std::string& token, bool page) {
  http::Settings settings;
  settings.routes = all_routes(page);
  settings.token = token;
  settings.listener = std::move(listener);
  server_ = std::make_unique<http::HttpServer>(loop_, std::move(settings));
  has_page_ = page;
  log::info("monitoring: HTTP at {}", address_);
}

void Monitoring::try_start(uint64_t now_ns) {
  tried_ns_ = now_ns;
  try {
    const std::string token =
        settings_.http_token_file.empty() ? std::string() : http::load_token(settings_.http_token_file);
    UniqueFd socket = listener();
    // The service manager's socket may be another one than the settings say.
    const bool may_have_page = !token.empty() || address_.starts_with("unix:");
    if (settings_.http_page && !may_have_page)
      log::error(
          "monitoring: the page is not served at {}, which every user of this machine can connect to: set "
          "token_file in [http]",
          address_);
    serve(std::move(socket), token, settings_.http_page && may_have_page);
    told_.clear();
  } catch (const std::exception& error) {
    address_.clear();
    if (told_ == error.what()) return;
    told_ = error.what();
    log::error("monitoring: {}; spdld works without its HTTP server, and tries again every {} s", told_,
               kRetryNs / 1'000'000'000);
  }
}

Monitoring::Page Monitoring::page() const {
  return {address_, has_page_ && server_, settings_.http_token_file.string(), own_token_};
}

Monitoring::Page Monitoring::open_page() {
  if (wanted_ || server_) return page();
  UniqueFd socket = http::listen_at({.host = "127.0.0.1"}, 0);
  const auto address = http::address_of(socket.get());
  address_ = address ? address->text() : "";
  own_token_ = made_token();
  serve(std::move(socket), own_token_, true);
  return page();
}

}  // namespace spdld::node
