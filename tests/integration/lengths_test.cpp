// Pipelines whose samples differ in length, beside a client of an older release and in the words of spdlctl.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/control/raw_client.h"
#include "tests/integration/trainer.h"
#include "tests/support/daemon_process.h"
#include "tests/support/makers/photos.h"
#include "tests/support/temp_dir.h"

namespace spdld::lengths_test {

using namespace spdld;
using namespace spdld::test;

namespace {

constexpr int kPhotos = 10;

// The files of pictures as they are.
std::string files_spec(const std::filesystem::path& folder, const std::string& keys) {
  return "name = \"files\"\n[source]\ntype = \"image-folder\"\nuri = \"" + folder.string() +
         "\"\n[order]\nshuffle = false\n[[output]]\nname = \"file\"\nfrom = \"image\"\nops = [{ op = \"bytes\" }]\n" +
         "length_max = 100000\n" + keys + "\n[batch]\nsize = 4\n";
}

std::multiset<std::string> files_of(const std::filesystem::path& folder) {
  std::multiset<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    files.emplace(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return files;
}

// The content of each file that the batch holds.
std::vector<std::string> files_in(const Batch& batch) {
  const uint64_t valid = batch.info().valid;
  const spdld_tensor file = batch["file"];
  const auto* bytes = static_cast<const char*>(file.address);
  std::vector<std::string> files;
  const auto offsets = batch.part("file", SPDLD_OFFSETS), lengths = batch.part("file", SPDLD_LENGTHS);
  REQUIRE((offsets || lengths));
  const auto* numbers = static_cast<const int64_t*>((offsets ? offsets : lengths)->address);
  for (uint64_t i = 0; i < valid; i++) {
    if (offsets)
      files.emplace_back(bytes + numbers[i], bytes + numbers[i + 1]);
    else
      files.emplace_back(bytes + i * static_cast<uint64_t>(file.strides[0]), static_cast<size_t>(numbers[i]));
  }
  return files;
}

// The error that answers an attach, behind any news of progress.
std::pair<proto::ErrorCode, std::string> refusal_to(const DaemonProcess& daemon, const std::string& spec,
                                                    const std::vector<std::string>& capabilities) {
  RawClient client(daemon.socket());
  client.hello(0, capabilities);
  client.send_spec(1, spec);
  for (int i = 0; i < 100; i++) {
    const auto heard = client.hear();
    REQUIRE(heard);
    if (heard->message().body_type() == proto::Body::Attached) return {};
    const auto* error = heard->message().body_as_ErrorReply();
    if (error) return {error->code(), error->message()->str()};
  }
  FAIL("no answer came");
  return {};
}

}  // namespace

TEST_CASE("a client of an older release that asks for samples of different lengths gets a sentence") {
  const TempDir dir;
  make_photos(dir.path(), kPhotos, 2);
  const DaemonProcess daemon;
  const std::vector<std::string> old = {"push", "float64", "classes", "spec_refused", "dtypes"};
  auto now = old;
  now.emplace_back("roles");
  for (const std::string keys : {"ragged = true", "pad = \"longest\"", "pad = \"longest\"\nlengths = \"n\"",
                                 "pad = \"longest\"\npad_mask = \"m\""}) {
    INFO(keys);
    const auto [code, text] = refusal_to(daemon, files_spec(dir.path(), keys), old);
    CHECK(code == proto::ErrorCode::unsupported);
    CHECK_THAT(text, Catch::Contains("install this spdld's release where the client runs"));
    CHECK(refusal_to(daemon, files_spec(dir.path(), keys), now).second.empty());
  }
}

TEST_CASE("the files of a folder come whole through the C++ client, ragged and padded") {
  const TempDir dir;
  make_photos(dir.path(), kPhotos, 2);
  const DaemonProcess daemon;
  for (const std::string keys : {"ragged = true", "pad = \"longest\"\nlengths = \"n\""}) {
    INFO(keys);
    Loader loader = attach({.socket = daemon.socket(), .spec = files_spec(dir.path(), keys), .group = "g"});
    std::multiset<std::string> came;
    for (auto next = loader.next(20'000); next.result == SPDLD_OK; next = loader.next(20'000))
      for (std::string& file : files_in(next.batch)) came.insert(std::move(file));
    CHECK(came == files_of(dir.path()));
  }
}

}  // namespace spdld::lengths_test
