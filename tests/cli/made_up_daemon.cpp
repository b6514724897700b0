// A daemon that answers every question with the text that it is given. It listens at a path, says so by a line, and
// ends with its stdin.
//
//   made_up_daemon PATH ANSWER
#include <iostream>
#include <string>

#include "tests/support/fake_daemon.h"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  spdld::test::FakeScript script;
  script.answer_json = arguments[2];
  const spdld::test::FakeDaemon daemon(arguments[1], script);
  std::cout << "listening" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}
