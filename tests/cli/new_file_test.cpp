// Files that commands write: whole or not at all, behind links, and into what is no file.
#include "client/cli/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "client/cli/cli.h"
#include "tests/support/temp_dir.h"

namespace spdld::cli::new_file_test {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write(const fs::path& file, const std::string& text) {
  NewFile made(file);
  made.write(text);
  made.finish();
}

size_t entries_of(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string why_not(const fs::path& file, const std::string& text = "x") {
  try {
    write(file, text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

// Standard output is another file, while this lives.
class OtherStdout {
 public:
  explicit OtherStdout(const fs::path& file) : before_(::dup(STDOUT_FILENO)) {
    const UniqueFd other(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(::dup2(other.get(), STDOUT_FILENO) == STDOUT_FILENO);
  }
  ~OtherStdout() { ::dup2(before_.get(), STDOUT_FILENO); }

 private:
  const UniqueFd before_;
};

void write_to_stdout(const std::string& text) {
  REQUIRE(::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

}  // namespace

TEST_CASE("a file is there whole or not at all, and nothing else is left beside it") {
  const test::TempDir dir;
  const fs::path file = dir.path() / "file";
  {
    NewFile made(file);
    made.write("half");
    CHECK_FALSE(fs::exists(file));
  }
  CHECK(entries_of(dir.path()) == 0);
  write(file, "whole");
  CHECK(text_of(file) == "whole");
  CHECK(entries_of(dir.path()) == 1);
}

TEST_CASE("a link to a file stays, and its target is replaced whole, or made where there is none yet") {
  const test::TempDir dir;
  fs::create_directories(dir.path() / "links/more");
  fs::create_directories(dir.path() / "files");
  const fs::path target = dir.path() / "files/target", link = dir.path() / "links/link";
  std::ofstream(target) << "old";
  fs::create_symlink("../files/target", link);
  fs::create_symlink("../link", dir.path() / "links/more/link");
  {
    NewFile made(dir.path() / "links/more/link");
    made.write("half");
    CHECK(text_of(target) == "old");
  }
  write(dir.path() / "links/more/link", "new");
  CHECK(fs::is_symlink(link));
  CHECK(text_of(target) == "new");
  CHECK(fs::is_regular_file(fs::symlink_status(target)));
  fs::remove(target);  // now the link leads nowhere
  write(link, "made");
  CHECK(fs::is_symlink(link));
  CHECK(text_of(target) == "made");
  CHECK(entries_of(dir.path() / "files") == 1);
  fs::create_symlink("ring", dir.path() / "ring");
  CHECK_FALSE(why_not(dir.path() / "ring").empty());
}

TEST_CASE("devices and pipes are written into, and stay what they are") {
  const test::TempDir dir;
  const fs::path null = dir.path() / "null", pipe = dir.path() / "pipe";
  fs::create_symlink("/dev/null", null);
  write(null, "gone");
  write("/dev/null", "gone");
  CHECK(fs::is_symlink(null));
  CHECK(fs::is_character_file("/dev/null"));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string read;
  std::jthread reader([&] { read = text_of(pipe); });
  write(pipe, "through");
  reader.join();
  CHECK(read == "through");
  CHECK(fs::is_fifo(pipe));
  CHECK(entries_of(dir.path()) == 2);
}

TEST_CASE("/dev/stdout is the standard output, with its place in the file, by whatever link") {
  const test::TempDir dir;
  const fs::path out = dir.path() / "out", link = dir.path() / "link";
  fs::create_symlink("/dev/stdout", link);
  for (const fs::path& path : {fs::path("/dev/stdout"), fs::path("/dev/fd/1"), fs::path("/proc/self/fd/1"), link}) {
    INFO(path);
    bool is_stdout = false;
    {
      const OtherStdout other(out);
      write_to_stdout("before ");
      NewFile made(path);
      made.write("file");
      is_stdout = made.is_stdout();
      made.finish();
      write_to_stdout(" behind");
    }
    CHECK(is_stdout);
    CHECK(text_of(out) == "before file behind");
    CHECK(entries_of(dir.path()) == 2);
  }
  CHECK(fs::is_symlink("/dev/stdout"));
  CHECK_FALSE(NewFile(dir.path() / "other").is_stdout());
}

TEST_CASE("what cannot be written is told, and leaves everything as it was") {
  const test::TempDir dir;
  const fs::path file = dir.path() / "file";
  std::ofstream(file) << "old";
  CHECK(why_not("/dev/full").find("/dev/full can't be written: No space left on device") == 0);
  fs::create_symlink("/dev/full", dir.path() / "full");
  CHECK_FALSE(why_not(dir.path() / "full").empty());
  CHECK_FALSE(why_not(dir.path() / "none/file").empty());
  CHECK_FALSE(why_not(file / "inside").empty());
  CHECK(why_not(dir.path()).find("Is a directory") != std::string::npos);
  CHECK_FALSE(why_not("/proc/spdld-none").empty());  // a folder where nothing can be made
  CHECK_FALSE(why_not("/dev/fd/999").empty());
  CHECK(text_of(file) == "old");
  CHECK(entries_of(dir.path()) == 2);
}

TEST_CASE("somebody else's link in a folder that everybody writes to leads nobody") {
  const test::TempDir dir;
  const fs::path target = dir.path() / "target", shared = dir.path() / "shared", link = shared / "link";
  fs::create_directory(shared);
  fs::create_symlink(target, link);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  write(link, "own link");
  CHECK(text_of(target) == "own link");
  if (::lchown(link.c_str(), 12345, 12345) != 0) return;  // root alone can give a link away
  CHECK(why_not(link).find("Permission denied") != std::string::npos);
  CHECK(text_of(target) == "own link");
  REQUIRE(::chmod(shared.c_str(), 0777) == 0);
  write(link, "no shared folder");
  CHECK(text_of(target) == "no shared folder");
}

}  // namespace spdld::cli::new_file_test
