// Decodes and renders pictures exactly as the daemon's decode threads do, for comparison with other programs.
//
//   pixel_dump PIPELINE.toml < REQUESTS
//
// runs the file's first output. A request is a line "SAMPLE PATH"; the answer is a line of JSON, then the tensor's
// bytes:
//   {"bytes": n, "dtype": "...", "shape": [...], "picture": [w, h], "box": [x, y, w, h], "grid": [r, c, h, w]}
// or {"error": "..."}, no bytes
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/load.h"
#include "daemon/media/image/image_decoder.h"
#include "tests/support/picture_chain.h"

namespace {

using namespace spdld;

struct Rooms {
  explicit Rooms(const config::PipelineSpec& spec) : program(spec.outputs.front()), seed(spec.seed) {}

  test::PictureChain program;
  uint64_t seed;
  std::unique_ptr<image::ImageDecoder> decoder = image::make_image_decoder();
  image::Scratch scratch;
  image::Geometry geometry;
  PixelRows rows;
  std::vector<uint8_t> tensor;
  media::Workspace workspace;
};

// Several frames, by the node that the daemon runs.
nlohmann::json answer_frames(Rooms& rooms, uint64_t sample, const std::vector<uint8_t>& bytes) {
  rooms.tensor.assign(rooms.program.tensor().bytes(), 0x5C);
  const media::TensorOut out{.memory = rooms.tensor.data()};
  const Draws draws{rooms.seed, 0, sample};
  media::Field field{.bytes = bytes};
  media::Value value{.bytes = bytes};
  const media::Run run{sample, draws, rooms.workspace, &field, {&out, 1}};
  if (const Status done = rooms.program.chain().run(value, run); !done) return {{"error", done.error().message}};
  return {{"bytes", rooms.tensor.size()},
          {"dtype", config::dtype_name(rooms.program.tensor().dtype)},
          {"shape", rooms.program.tensor().shape}};
}

nlohmann::json answer(Rooms& rooms, uint64_t sample, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {{"error", "can't read " + path}};
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  const image::DecodeWay& way = rooms.program.way();
  if (way.pixels.frames > 0) return answer_frames(rooms, sample, bytes);
  const auto size = rooms.decoder->open(bytes, way.exif, way.strict, way.pixels);
  if (!size) return {{"error", size.error().message}};
  rooms.program.resolve(*size, {rooms.seed, 0, sample}, rooms.geometry);
  const auto decoded = rooms.decoder->decode(rooms.geometry.decoded, rooms.rows);
  if (!decoded) return {{"error", decoded.error().message}};
  rooms.tensor.resize(rooms.program.tensor().bytes());
  rooms.program.render(rooms.rows, rooms.geometry, rooms.scratch, rooms.tensor.data());
  const Box& box = rooms.geometry.drawn;
  std::vector<int64_t> shape = rooms.program.tensor().shape;
  if (const size_t pieces = rooms.geometry.pieces.size(); pieces > 0) {
    rooms.tensor.resize(rooms.tensor.size() / static_cast<size_t>(shape.front()) * pieces);
    shape.front() = static_cast<int64_t>(pieces);
  }
  return {{"bytes", rooms.tensor.size()},
          {"dtype", config::dtype_name(rooms.program.tensor().dtype)},
          {"shape", shape},
          {"grid", rooms.geometry.grid},
          {"picture", {size->width, size->height}},
          {"box", {box.x, box.y, box.width, box.height}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: pixel_dump PIPELINE.toml < REQUESTS\n"), 2;
  const auto spec = config::load_pipeline_file(argv[1]);
  if (!spec) return std::fprintf(stderr, "%s\n", spec.sentences().c_str()), 1;
  Rooms rooms(*spec.value);
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
