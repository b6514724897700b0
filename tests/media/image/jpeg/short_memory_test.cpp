#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "daemon/media/image/codecs/arena.h"

namespace spdld::decode_short_memory_test {

using image::Arena;

TEST_CASE("an arena tells the machine's memory that is reached from its own limit") {
  const pid_t child = fork();
  if (child == 0) {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    file >> pages;
    const rlimit limit{pages * 4096 + (64u << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(9);
    Arena arena(size_t{1} << 30, size_t{1} << 20);
    if (!arena.take(1000) || arena.ran_short()) _exit(1);
    if (arena.take(size_t{2} << 30) || arena.ran_short()) _exit(2);     // above the limit
    if (arena.take(size_t{256} << 20) || !arena.ran_short()) _exit(3);  // below it
    arena.reset();
    _exit(arena.ran_short() ? 4 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
}  // namespace spdld::decode_short_memory_test
