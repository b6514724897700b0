// The HTTP server of the daemon, from its settings to its end. Where its address or its token can't be had, the daemon
// works without the server, says so once, and tries again. Control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/system/event_loop.h"
#include "daemon/http/health.h"
#include "daemon/http/server.h"
#include "proto/unique_fd.h"

namespace spdld::node {

class Monitoring {
 public:
  static constexpr uint64_t kRetryNs = 5ull * 1'000'000'000;

  // `passed`: a listening socket of the service manager's, which stands in the place of the address. The settings
  // outlive this object.
  Monitoring(EventLoop& loop, const config::DaemonSettings& settings, UniqueFd passed);
  ~Monitoring();

  // Makes the routes, with the page or without; /livez and /readyz are added to them.
  using Routes = std::function<std::vector<http::Route>(bool page)>;
  // Begins to serve where the settings ask for it.
  void start(Routes routes);
  void tick(uint64_t now_ns);
  // The daemon takes trainers.
  void note_ready() { health_.set_refusal(""); }
  // The daemon takes no trainers any more; the server still answers.
  void drain(const std::string& why);

  struct Page {
    std::string address;     // "127.0.0.1:9464", "unix:/run/spdld/http.sock"; empty: nobody listens
    bool is_served = false;  // there is a page at the address
    std::string token_file;  // as in the settings; empty: there is none
    std::string token;       // that this daemon has made; empty: it has made none
  };
  Page page() const;
  // Serves the page at a port of 127.0.0.1 that the kernel chooses, with a token that nobody knew before, unless the
  // settings say where the server listens.
  Page open_page();

 private:
  std::vector<http::Route> all_routes(bool page) const;
  UniqueFd listener();
  void try_start(uint64_t now_ns);
  void serve(UniqueFd listener, const std::string& token, bool page);

  EventLoop& loop_;
  const config::DaemonSettings& settings_;
  UniqueFd passed_;
  http::Health health_;
  Routes routes_;
  bool wanted_ = false;
  uint64_t tried_ns_ = 0;
  std::string told_;     // the trouble that the log has
  std::string address_;  // of the server; empty: there is none
  bool has_page_ = false;
  std::string own_token_;
  std::string own_path_;  // of a Unix socket that this daemon made
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace spdld::node
