// A daemon whose samples pass a third stage, which no room of it knows: two graders who take some time for each sample.
#include "tests/stages/daemon_with.h"
#include "tests/support/grading.h"

int main(int count, char** words) {
  spdld::test::Graders graders(2, std::chrono::milliseconds(2));
  return spdld::test::run_daemon_with(count, words, [&](spdld::node::Options& options) {
    options.more_stages = {spdld::test::grading(graders)};
    options.more_executors = {graders.executor()};
  });
}
