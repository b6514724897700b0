#include "tests/support/makers/photos.h"

#include <fstream>

#include "tests/support/makers/jpeg_maker.h"

namespace spdld::test {

void make_photos(const std::filesystem::path& folder, int count, int classes, int width, int height) {
  for (int i = 0; i < count; i++) {
    const auto into = folder / ("class-" + std::to_string(i % classes));
    std::filesystem::create_directories(into);
    JpegOptions options;
    options.seed = static_cast<uint32_t>(i + 1);
    if (i % 2) options.subsampling = Subsampling::k444;
    const auto bytes = make_jpeg(width + i % 7, height + i % 5, options);
    const std::string digits = std::to_string(100000 + i).substr(1);
    std::ofstream(into / (digits + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

std::string PhotoSpec::toml(const std::filesystem::path& folder) const {
  std::string size = "size = " + std::to_string(batch_size);
  if (global_size) size = "global_size = " + std::to_string(global_size);
  if (cost_max) size = "cost_max = " + std::to_string(cost_max) + "\ncost = \"pixels\"\nbuckets = 5";
  return "name = \"" + name + "\"\nseed = " + std::to_string(seed) + "\non_bad = \"" + on_bad + "\"\ncache = \"" +
         cache + "\"\nshare = \"" + share + "\"\n" + extra + "\n[source]\ntype = \"image-folder\"\nuri = \"" +
         folder.string() + "\"\n" + extra_source + "\n[order]\nepochs = " + std::to_string(epochs) + "\n" +
         extra_order +
         "\n[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" },\n"
         "  { op = \"random-resized-crop\", size = [32, 32], box = \"box\" },\n  { op = \"horizontal-flip\" },\n"
         "  { op = \"normalize\", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] }]\n"
         "[[output]]\nname = \"label\"\nfrom = \"class\"\n[batch]\n" +
         size + "\nlast = \"" + last + "\"\nprefetch_depth = " + std::to_string(prefetch_depth) + "\n" + extra_batch +
         "\n";
}

}  // namespace spdld::test
