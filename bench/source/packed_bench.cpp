// packed_bench ARCHIVE...: reads all samples of each archive in order through the fetch router, 32 at a time, after the
// listing. Prints the archive's name, the members' MB, and MB/s and CPU seconds for the reading.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/source/files.h"
#include "daemon/base/system/cpu.h"
#include "daemon/source/fetching/fetch_router.h"

namespace {

using namespace spdld;

constexpr uint64_t kAtOnce = 32;

class Waiter final : public source::FetchObserver {
 public:
  void on_fetched(source::FetchRequest&) override {
    const std::scoped_lock lock(mutex_);
    ++done_;
    changed_.notify_one();
  }
  void wait(uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t done_ = 0;
};

int read_archive(const std::string& path) {
  const auto listing = bench::list("webdataset", path);
  source::LocalFetcher local(2);
  source::FetchRouter router(local);
  std::vector<source::FieldFetch> fields;
  for (size_t i = 0; i < listing->fields().size(); ++i)
    if (listing->fields()[i].kind == source::FieldKind::kFetched)
      fields.push_back({.field = static_cast<source::FieldId>(i)});
  std::vector<source::FetchRequest> requests(kAtOnce);
  const uint64_t start_ns = monotonic_ns(), cpu_ns = process_cpu_ns();
  uint64_t bytes = 0;
  for (uint64_t first = 0; first < listing->size(); first += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, listing->size() - first);
    Waiter waiter;
    for (uint64_t i = 0; i < count; ++i) {
      source::FetchRequest& request = requests[i];
      request.listing = listing.get();
      request.sample = first + i;
      request.fields = fields;
      request.observer = &waiter;
      listing->expect(std::min(first + i + 1024, listing->size() - 1), first + i, 4096);
      router.fetch(request);
    }
    waiter.wait(count);
    for (uint64_t i = 0; i < count; ++i) {
      if (!requests[i].ok) {
        std::fprintf(stderr, "%s\n", requests[i].error.message.c_str());
        return 1;
      }
      for (size_t f = 0; f < fields.size(); ++f) bytes += requests[i].bytes[f].size();
    }
  }
  const double wall_s = seconds(monotonic_ns() - start_ns), cpu_s = seconds(process_cpu_ns() - cpu_ns);
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("%s %.1f MB %.0f MB/s %.3f CPU s\n", path.c_str(), megabytes, megabytes / wall_s, cpu_s);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (read_archive(arguments[i]) != 0) return 1;
  return 0;
}
