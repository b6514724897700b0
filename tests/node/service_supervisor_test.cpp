// systemd's watchdog, as its environment tells it.
#include "daemon/node/service_supervisor.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

namespace spdld::service_supervisor_test {
namespace {

struct Environment {
  Environment(const std::string& limit_us, const std::string& pid) {
    ::setenv("WATCHDOG_USEC", limit_us.c_str(), 1);
    ::setenv("WATCHDOG_PID", pid.c_str(), 1);
  }
  ~Environment() {
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

}  // namespace

TEST_CASE("a daemon that systemd does not watch has no watchdog's period") {
  CHECK_FALSE(node::ServiceSupervisor().watchdog_period());
  const Environment other("3000000", std::to_string(::getpid() + 1));
  CHECK_FALSE(node::ServiceSupervisor().watchdog_period());
}

#if SPDLD_SYSTEMD
TEST_CASE("a daemon that systemd watches is alive twice in the time that it has") {
  const Environment own("3000000", std::to_string(::getpid()));
  const auto period = node::ServiceSupervisor().watchdog_period();
  REQUIRE(period);
  CHECK(*period == std::chrono::milliseconds(1500));
}
#endif

}  // namespace spdld::service_supervisor_test
