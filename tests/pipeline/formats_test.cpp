// JPEG and PNG files in one folder, told apart by their content, through a whole pipeline; and the same bytes whatever
// the cache keeps.
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "config/checks/load.h"
#include "daemon/memory/host/host_slot.h"
#include "daemon/pipeline/stream.h"
#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/listing.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/makers/jpeg_maker.h"
#include "tests/support/makers/png_maker.h"
#include "tests/support/temp_dir.h"

namespace spdld::formats_test {

using namespace spdld;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kWidth = 40, kHeight = 30, kEpochs = 3;

void write(const std::filesystem::path& file, const Bytes& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

config::PipelineSpec spec_of(const std::filesystem::path& folder, const std::string& cache) {
  auto spec = config::load_pipeline_toml(
      "name = \"formats\"\ncache = \"" + cache + "\"\n[source]\ntype = \"image-folder\"\nuri = \"" + folder.string() +
          "\"\nextensions = \"jpg,jpeg,png\"\n[order]\nshuffle = false\nepochs = " + std::to_string(kEpochs) +
          "\n[batch]\nsize = 4\n[[output]]\nname = \"image\"\nfrom = \"image\"\nops = [{ op = \"decode-image\" }, "
          "{ op = \"center-crop\", size = [30, 40] }]\n[[output]]\nname = \"cut\"\nfrom = \"image\"\nops = "
          "[{ op = \"decode-image\" }, { op = \"random-resized-crop\", size = 16 }]\n",
      "test.toml");
  INFO(spec.sentences());
  REQUIRE(spec);
  return *spec.value;
}

// Runs a pipeline to its end, and takes down the tensors of all its samples in their order.
class PipelineRun final : private pipeline::FillObserver {
 public:
  explicit PipelineRun(const config::PipelineSpec& spec)
      : pipeline_(
            std::make_shared<pipeline::Pipeline>(spec, source::open_listing(spec.sources[0], {}, {}), 0.0,
                                                 pipeline::Resources{.pool = pool_,
                                                                     .fetcher = fetcher_,
                                                                     .contexts = contexts_,
                                                                     .cache = cache_,
                                                                     .patience = {.memory_ns_max = 1'000'000'000}})),
        sharding_(pipeline_->samples(), pipeline_->spec().batch, 0, 1),
        layout_(pipeline_->plan().tensors(), sharding_.batch_size(), 1 << 20) {
    pipeline_->open_cache();
    pipeline::Stream stream(pipeline_, sharding_, layout_, 1, sampler::Position{}, *this);
    batch::Slot slot{0, std::make_unique<memory::HostSlot>(layout_.slot_bytes(), memory::Access::kWritable)};
    while (images.size() < kEpochs * pipeline_->samples()) {
      stream.fill(slot);
      wait([this] { return filled_; });
      filled_ = false;
    }
    stream.stop();
    wait([this] { return quiet_; });
    form = pipeline_->caching().choice().form;
    for (const auto& shelf : pipeline_->caching().report()) kept += shelf.memory_entries;
    pipeline_->close_cache();
  }

  std::vector<Bytes> images, cuts;
  config::CacheForm form = config::CacheForm::kAuto;
  uint64_t kept = 0;

 private:
  void wait(const std::function<bool()>& for_what) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return for_what() || !failure_.empty(); }));
    REQUIRE(failure_.empty());
  }
  void note(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    changed_.notify_all();
  }
  void on_batch(const batch::Batch& batch) override {
    note([&] {
      const auto take = [&](std::vector<Bytes>& into, size_t tensor, uint64_t index) {
        const uint8_t* at = layout_.sample_at(batch.slot->memory->fill_address(), tensor, index);
        into.emplace_back(at, at + layout_.tensors()[tensor].sample_bytes);
      };
      for (uint64_t i = 0; i < batch.slice.count; i++) take(images, 0, i), take(cuts, 1, i);
      filled_ = true;
    });
  }
  void on_abandoned(batch::Slot&) override {}
  void on_failed(const Error& error) override {
    note([&] { failure_ = error.message; });
  }
  void on_quiet() override {
    note([&] { quiet_ = true; });
  }
  void on_wanting() override {}

  FairPool pool_{2};
  source::LocalFetcher fetcher_{1};
  std::vector<pipeline::DecodeContext> contexts_{pool_.runners()};
  cache::Cache cache_{cache::Settings{.ram_bytes_max = 64u << 20}};
  std::shared_ptr<pipeline::Pipeline> pipeline_;
  sampler::Sharding sharding_;
  batch::Layout layout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool filled_ = false, quiet_ = false;
  std::string failure_;
};

}  // namespace

TEST_CASE("JPEG and PNG in one folder are told apart by content, and no form of the cache changes a byte") {
  const test::TempDir folder;
  const auto jpeg = test::make_jpeg(kWidth, kHeight);
  const auto deep = test::make_png(kWidth, kHeight, {.colour = 6, .depth = 16, .interlaced = true});
  const auto grey = test::make_png(kWidth, kHeight, {.colour = 0, .depth = 4});
  const auto palette = test::make_png(kWidth, kHeight, {.colour = 3, .depth = 8});
  write(folder.path() / "a/0.jpg", jpeg);
  write(folder.path() / "a/1.png", deep.bytes);
  write(folder.path() / "a/2.jpg", grey.bytes);
  write(folder.path() / "b/3.png", jpeg);
  write(folder.path() / "b/4.PNG", palette.bytes);
  const PipelineRun off(spec_of(folder.path(), "off"));
  REQUIRE(off.images.size() == 5 * kEpochs);
  CHECK(off.kept == 0);
  for (size_t epoch = 0; epoch < kEpochs; epoch++) {
    const auto image = [&](size_t index) { return off.images[5 * epoch + index]; };
    CHECK(image(0) == image(3));
    CHECK(image(1) == deep.rgb);
    CHECK(image(2) == grey.rgb);
    CHECK(image(4) == palette.rgb);
  }
  for (const auto& [cache, form] :
       {std::pair("encoded", config::CacheForm::kEncoded), std::pair("decoded", config::CacheForm::kDecoded)}) {
    const PipelineRun cached(spec_of(folder.path(), cache));
    CHECK(cached.images == off.images);
    CHECK(cached.cuts == off.cuts);
    CHECK(cached.form == form);
    CHECK(cached.kept == 5);  // a PNG has no planes: it is kept as it was fetched
  }
}

TEST_CASE("a folder of PNGs alone is kept as it was fetched where decoded was asked for") {
  const test::TempDir folder;
  for (uint32_t i = 0; i < 6; i++) {
    write(folder.path() / "a" / (std::to_string(i) + ".png"),
          test::make_png(kWidth, kHeight, {.colour = i % 2 == 0 ? 2 : 4, .seed = i}).bytes);
  }
  const PipelineRun plain(spec_of(folder.path(), "off")), cached(spec_of(folder.path(), "decoded"));
  CHECK(cached.form == config::CacheForm::kEncoded);
  CHECK(cached.kept == 6);
  CHECK(cached.images == plain.images);
  CHECK(cached.cuts == plain.cuts);
  const PipelineRun chosen(spec_of(folder.path(), "auto"));
  CHECK(chosen.form == config::CacheForm::kOff);
  CHECK(chosen.cuts == plain.cuts);
}

}  // namespace spdld::formats_test
