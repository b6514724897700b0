// The names of a data set's classes, as ATTACHED brings them, and what of them a hostile daemon could send.
#include <spdld.hpp>

#include <cstddef>

#include "tests/client/session.h"

namespace spdld::classes_test {

using namespace spdld;
using namespace spdld::test;

namespace {

std::vector<std::string> names_of(const spdld_info& info) {
  return std::vector<std::string>(info.class_names, info.class_names + info.classes);
}

spdld_result attach_result(const FakeScript& script) {
  const Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  const spdld_attach_options options = options_for(socket);
  spdld_loader* loader = nullptr;
  const spdld_result result = spdld_attach(&options, &loader);
  const test::Loader held(loader);
  if (result != SPDLD_OK) CHECK(std::string(spdld_last_error()).find("classes") != std::string::npos);
  return result;
}

}  // namespace

TEST_CASE("classes come in the message or in a memfd, and outlive a restart of the daemon") {
  FakeScript script;
  script.class_count = 3;
  const bool in_memory = GENERATE(false, true);
  if (in_memory) {
    script.classes_memory = std::string("cat\0dog\0\xff\0", 10);
  } else {
    script.classes = {"cat", "dog", "\xff"};
  }
  const std::vector<std::string> expected = {"cat", "dog", "\xff"};
  Attached attached(script);
  CHECK(names_of(info_of(attached.loader)) == expected);
  // A program that was built before there were classes knows a shorter structure.
  spdld_info shorter = {};
  shorter.struct_size = offsetof(spdld_info, classes);
  REQUIRE(spdld_get_info(attached.loader.get(), &shorter) == SPDLD_OK);
  CHECK(shorter.class_names == nullptr);
  CHECK(shorter.batch_size == 4);
  CHECK(next_result(attached.loader, 2000) == SPDLD_OK);
}

TEST_CASE("data without classes, and classes that were not sent") {
  const Attached none;
  CHECK(info_of(none.loader).classes == 0);
  CHECK(info_of(none.loader).class_names == nullptr);
  FakeScript script;
  script.class_count = 5'000'000;
  const Attached many(script);
  CHECK(info_of(many.loader).classes == 5'000'000);
  CHECK(info_of(many.loader).class_names == nullptr);
}

TEST_CASE("the C++ interface gives classes both ways") {
  FakeScript script;
  script.class_count = 2;
  script.classes = {"cat", "dog"};
  const Folder folder;
  const FakeDaemon daemon(folder.socket(), script);
  const std::string socket = folder.socket();
  const spdld::Loader loader(options_for(socket));
  CHECK(loader.classes() == std::vector<std::string>{"cat", "dog"});
  CHECK(loader.class_to_idx() == std::map<std::string, uint64_t>{{"cat", 0}, {"dog", 1}});
}

TEST_CASE("classes that are not what they say are refused") {
  FakeScript script;
  script.class_count = 2;
  script.classes = {"cat"};
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes = {"cat", ""};
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes = {"cat", std::string("d\0g", 3)};
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes = {"cat", "dog"};
  CHECK(attach_result(script) == SPDLD_OK);
  script.classes_memory = std::string("cat\0", 4);  // both
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes.clear();
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes_memory = "cat\0dog";
  CHECK(attach_result(script) == SPDLD_INTERNAL);  // without an end
  script.classes_memory = std::string("cat\0\0", 5);
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.classes_memory = std::string("cat\0dog\0", 8);
  CHECK(attach_result(script) == SPDLD_OK);
  script.seals_classes = false;
  CHECK(attach_result(script) == SPDLD_INTERNAL);
  script.seals_classes = true;
  script.forgets_classes = true;
  CHECK(attach_result(script) == SPDLD_INTERNAL);  // a slot's memory in its place
}

}  // namespace spdld::classes_test
