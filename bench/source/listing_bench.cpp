// Measures a listing of many files, made afresh and taken from the kept listing:
//   listing_bench [CLASSES FILES_OF_EACH]      the default is 1000 1300, as many files as ImageNet has
// It also lists the same number of samples as a WebDataset, with an archive for each class, and a .jpg and a .cls for
// each sample. The program makes empty files in the temporary folder and removes them. The kernel has the files in
// memory, so the time of a disk is not measured.
#include <sys/resource.h>
#include <sys/time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "bench/source/files.h"

namespace {

using namespace spdld;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double cpu_s() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void measure(const char* what, const std::filesystem::path& root, const std::filesystem::path& kept,
             const char* type = "image-folder") {
  source::KeptUse use;
  const double cpu_before_s = cpu_s();
  const auto start = std::chrono::steady_clock::now();
  const auto listing = bench::list(type, root, kept, &use);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf(
      "%-34s %9llu samples  %7.3f s  %7.3f s of CPU  %6.1f MB held, %5.1f bytes a sample  %llu read, %llu taken\n",
      what, static_cast<unsigned long long>(listing->size()), wall.count(), cpu_s() - cpu_before_s,
      static_cast<double>(listing->memory_bytes()) * 1e-6,
      static_cast<double>(listing->memory_bytes()) / static_cast<double>(listing->size()),
      static_cast<unsigned long long>(use.read), static_cast<unsigned long long>(use.taken));
}

// As if no folder had been changed for long.
void settle(const std::filesystem::path& root) {
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    std::filesystem::last_write_time(entry.path(), long_ago);
  }
}

void run(unsigned classes, unsigned files) {
  const bench::TempFolder temp;
  const auto root = temp.path() / "tree", kept = temp.path() / "kept";
  bench::make_image_folder(root, classes, files, 0);
  settle(root);
  measure("afresh", root, {});
  measure("afresh, again", root, {});
  measure("afresh, and kept", root, kept);
  for (const auto& entry : std::filesystem::directory_iterator(kept)) {
    std::printf("kept in %.1f MB\n", static_cast<double>(entry.file_size()) * 1e-6);
  }
  measure("kept", root, kept);
  measure("kept, again", root, kept);
  { const std::ofstream made(std::filesystem::directory_iterator(root)->path() / "one-more.JPEG"); }
  measure("kept, one folder changed", root, kept);
  std::filesystem::remove_all(root);
  std::filesystem::create_directory(root);
  for (unsigned i = 0; i < classes; ++i) {
    bench::make_archive(root / ("train-" + std::to_string(100'000 + i) + ".tar"), files, 0, {"jpg", "cls"});
  }
  measure("webdataset, afresh", root, {}, "webdataset");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const unsigned classes = count == 3 ? static_cast<unsigned>(std::atoi(arguments[1])) : 1000;
    const unsigned files = count == 3 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1300;
    run(classes, files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "listing_bench: %s\n", error.what());
    return 1;
  }
}
