#include "daemon/source/kept/kept_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "daemon/source/fingerprint.h"
#include "daemon/source/stamps.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "spdldlst";
constexpr uint32_t kVersion = 1;  // raised when other things are listed, or are written otherwise
constexpr uint64_t kFileBytesMax = 8ull << 30;
constexpr size_t kDigits = 32;
constexpr size_t kWriteBytes = 1 << 20;  // at once
constexpr int64_t kSettledNs = 2'000'000'000;
constexpr auto kTemporaryMaxAge = std::chrono::hours(1);  // what is older was left by a daemon that died
constexpr std::string_view kSuffix = ".listing", kTemporarySuffix = ".listing-new";

std::string digits_of(std::string_view bytes) {
  Fingerprint fingerprint;
  fingerprint.add(bytes);
  return fingerprint.digits();
}

void append_u32(std::string& text, uint32_t number) {
  for (unsigned i = 0; i < 4; ++i) text += static_cast<char>(number >> (8 * i));
}

// The whole file, or nothing.
std::string read_whole(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (static_cast<uint64_t>(status.st_size) > kFileBytesMax) return {};
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::read(fd.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    got += static_cast<size_t>(n);
  }
  return bytes;
}

// Writes through a buffer, and hashes what it writes.
class HashedOutput {
 public:
  explicit HashedOutput(int fd) : fd_(fd) {}
  void add(std::string_view bytes) {
    hash_.add(bytes);
    buffer_.append(bytes);
    if (buffer_.size() >= kWriteBytes) flush();
  }
  // 0, or the errno of the first write that failed.
  int finish() {
    buffer_ += hash_.digits();
    flush();
    return error_number_;
  }

 private:
  void flush() {
    for (size_t done = 0; done < buffer_.size() && error_number_ == 0;) {
      const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
      if (n > 0) done += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR) error_number_ = errno;
    }
    buffer_.clear();
  }

  int fd_;
  Fingerprint hash_;
  std::string buffer_;
  int error_number_ = 0;
};

}  // namespace

KeptFile::KeptFile(fs::path folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {
  if (is_on()) path_ = folder_ / (digits_of(key_) + std::string(kSuffix));
}

std::string KeptFile::header() const {
  std::string text(kTitle);
  append_u32(text, kVersion);
  append_u32(text, static_cast<uint32_t>(key_.size()));
  return text + key_;
}

std::string_view KeptFile::read() {
  if (!is_on()) return {};
  bytes_ = read_whole(path_);
  const std::string start = header();
  if (bytes_.size() < start.size() + kDigits || !bytes_.starts_with(start)) return {};
  const std::string_view all = bytes_, hashed = all.substr(0, all.size() - kDigits);
  if (digits_of(hashed) != all.substr(hashed.size())) return {};
  return hashed.substr(start.size());
}

std::string KeptFile::write(const std::vector<std::string_view>& parts) {
  if (!is_on()) return {};
  const auto trouble = [&](int error_number) {
    return "the listing can't be kept in " + folder_.string() + ": " + error_words(error_number) + ".";
  };
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return trouble(error.value());
  std::string name = (folder_ / "XXXXXX").string() + std::string(kTemporarySuffix);
  UniqueFd fd(::mkostemps(name.data(), static_cast<int>(kTemporarySuffix.size()), O_CLOEXEC));
  if (!fd) return trouble(errno);
  HashedOutput output(fd.get());
  output.add(header());
  for (const std::string_view part : parts) output.add(part);
  int error_number = output.finish();
  fd.reset();
  if (error_number == 0 && ::rename(name.c_str(), path_.c_str()) != 0) error_number = errno;
  if (error_number != 0) ::unlink(name.c_str());
  remove_oldest();
  return error_number == 0 ? std::string() : trouble(error_number);
}

void KeptFile::touch() {
  if (is_on()) ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
}

void KeptFile::remove_oldest() const {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (gone) continue;
    if (name.ends_with(kSuffix)) kept.emplace_back(written, at->path());
    const bool left = name.ends_with(kTemporarySuffix) && fs::file_time_type::clock::now() - written > kTemporaryMaxAge;
    if (left) fs::remove(at->path(), gone);
  }
  if (kept.size() <= kKeptFilesMax) return;
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i < kept.size() - kKeptFilesMax; ++i) fs::remove(kept[i].second, error);
}

void KeptState::write(KeptWriter& writer) const {
  writer.number(inode);
  writer.number(size);
  writer.number(static_cast<uint64_t>(changed_ns));
  writer.number(static_cast<uint64_t>(status_changed_ns));
}

KeptState KeptState::read(KeptReader& reader) {
  KeptState state;
  state.inode = reader.number();
  state.size = reader.number();
  state.changed_ns = static_cast<int64_t>(reader.number());
  state.status_changed_ns = static_cast<int64_t>(reader.number());
  return state;
}

KeptState kept_state(const struct stat& status) {
  return {status.st_ino, static_cast<uint64_t>(status.st_size), time_ns(status.st_mtim), time_ns(status.st_ctim)};
}

int64_t file_time_now_ns() {
  struct timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return time_ns(now);
}

bool is_settled(const KeptState& state, int64_t now_ns) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  const bool has_long_steps = state.status_changed_ns % kSecondNs == 0;
  const int64_t older = std::min(state.changed_ns, state.status_changed_ns);
  return (has_long_steps ? state.status_changed_ns : older) < now_ns - kSettledNs;
}

}  // namespace spdld::source
