// Decodes and renders pictures exactly as the daemon's decode threads do, for comparison with other programs.
//
//   pixel_dump PIPELINE.toml [decoded | packed | indexed] < REQUESTS
//
// runs the file's first output. With the name of a form, a picture that has this form is rendered from it, as the cache
// keeps it. A request is a line "SAMPLE PATH"; the answer is a line of JSON, then the tensor's bytes:
//   {"bytes": n, "dtype": "...", "shape": [...], "picture": [w, h], "box": [x, y, w, h], "grid": [r, c, h, w],
//    "kept": whether the form was rendered}
// or {"error": "..."}, no bytes
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/checks/load.h"
#include "tests/support/one_keeper.h"
#include "tests/support/picture_chain.h"

namespace {

using namespace spdld;

struct Rooms {
  explicit Rooms(const config::PipelineSpec& spec) : program(spec.outputs.front()), seed(spec.seed) {}

  test::PictureChain program;
  uint64_t seed;
  config::CacheForm form = config::CacheForm::kOff;
  std::vector<uint8_t> tensor;
  media::Workspace workspace;
};

// By the node that the daemon runs.
Status run(Rooms& rooms, uint64_t sample, media::Field& field) {
  rooms.tensor.assign(rooms.program.tensor().bytes(), 0x5C);
  const media::TensorOut out{.memory = rooms.tensor.data()};
  const Draws draws{rooms.seed, 0, sample};
  media::Value value{.bytes = field.bytes};
  const media::Call call{sample, draws, rooms.workspace, &field, {&out, 1}};
  if (const Status asked = rooms.program.chain().announce(call); !asked) return asked;
  return rooms.program.chain().run(value, call);
}

// `keeper` gets the form on the way, and the picture is rendered once more from it.
Status run_form(Rooms& rooms, uint64_t sample, const std::vector<uint8_t>& bytes, test::OneKeeper& keeper) {
  media::Field field{.bytes = bytes, .form = rooms.form, .keeper = &keeper};
  if (const Status done = run(rooms, sample, field); !done || keeper.kept.empty()) return done;
  const std::vector<uint8_t> first = rooms.tensor;
  media::Field kept{.bytes = keeper.kept, .is_prepared = true, .form = rooms.form};
  if (const Status done = run(rooms, sample, kept); !done) return done;
  if (rooms.tensor != first) return Error{Trouble::kInternal, "the first sample and the kept one differ"};
  return Done{};
}

nlohmann::json answer(Rooms& rooms, uint64_t sample, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {{"error", "can't read " + path}};
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  test::OneKeeper keeper(true);
  media::Field field{.bytes = bytes};
  const Status done =
      rooms.form == config::CacheForm::kOff ? run(rooms, sample, field) : run_form(rooms, sample, bytes, keeper);
  if (!done) return {{"error", done.error().message}};
  const auto& work = rooms.workspace.of<image::PictureWork>();
  const image::Geometry& geometry = work.geometry;
  const Box& box = geometry.drawn;
  std::vector<int64_t> shape = rooms.program.tensor().shape;
  if (const size_t pieces = geometry.pieces.size(); pieces > 0) {
    rooms.tensor.resize(rooms.tensor.size() / static_cast<size_t>(shape.front()) * pieces);
    shape.front() = static_cast<int64_t>(pieces);
  }
  return {{"bytes", rooms.tensor.size()},
          {"dtype", config::dtype_name(rooms.program.tensor().dtype)},
          {"shape", shape},
          {"grid", geometry.grid},
          {"picture", {work.picture.width, work.picture.height}},
          {"box", {box.x, box.y, box.width, box.height}},
          {"kept", !keeper.kept.empty()}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3)
    return std::fprintf(stderr, "usage: pixel_dump PIPELINE.toml [decoded | packed | indexed] < REQUESTS\n"), 2;
  const auto spec = config::load_pipeline_file(argv[1]);
  if (!spec) return std::fprintf(stderr, "%s\n", spec.sentences().c_str()), 1;
  Rooms rooms(*spec.value);
  for (const auto form : {config::CacheForm::kDecoded, config::CacheForm::kPacked, config::CacheForm::kIndexed})
    if (argc == 3 && config::cache_form_name(form) == argv[2]) rooms.form = form;
  if (argc == 3 && rooms.form == config::CacheForm::kOff)
    return std::fprintf(stderr, "there is no form \"%s\"\n", argv[2]), 2;
  uint64_t sample = 0;
  for (std::string path; std::cin >> sample && std::getline(std::cin >> std::ws, path);) {
    const nlohmann::json header = answer(rooms, sample, path);
    std::cout << header.dump() << '\n';
    if (header.contains("bytes")) {
      std::cout.write(reinterpret_cast<const char*>(rooms.tensor.data()),
                      static_cast<std::streamsize>(rooms.tensor.size()));
    }
    std::cout.flush();
  }
}
