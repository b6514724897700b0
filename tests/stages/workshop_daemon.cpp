// A daemon with operations of an executor that no room of it knows: two threads of a workshop.
#include "tests/stages/daemon_with.h"
#include "tests/support/workshop.h"

int main(int count, char** words) {
  spdld::test::Workshop workshop(2);
  return spdld::test::run_daemon_with(count, words,
                                      [&](spdld::node::Options& options) { options.delegates = workshop.delegates(); });
}
