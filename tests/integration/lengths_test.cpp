// Pipelines whose samples differ in length, through the daemon and the C++ client.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

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

}  // namespace

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
