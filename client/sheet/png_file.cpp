#include "client/sheet/png_file.h"

#include <zlib.h>

#include <stdexcept>

namespace spdld::sheet {
namespace {

constexpr char kBits = 8, kTrueColour = 2, kNoFilter = 0;
constexpr int kCompression = 6;

void append_number(std::string& bytes, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFF);
}

void append_chunk(std::string& file, std::string_view type, std::string_view content) {
  append_number(file, static_cast<uint32_t>(content.size()));
  const size_t begin = file.size();
  file.append(type).append(content);
  const auto* covered = reinterpret_cast<const Bytef*>(file.data() + begin);
  append_number(file, static_cast<uint32_t>(crc32_z(0, covered, file.size() - begin)));
}

std::string rows_of(const Canvas& canvas) {
  std::string rows;
  rows.reserve(static_cast<size_t>(canvas.height()) * (1 + 3 * static_cast<size_t>(canvas.width())));
  for (int y = 0; y < canvas.height(); ++y) {
    rows += kNoFilter;
    const Colour* const row = canvas.row(y);
    for (int x = 0; x < canvas.width(); ++x) {
      rows += static_cast<char>(row[x].red);
      rows += static_cast<char>(row[x].green);
      rows += static_cast<char>(row[x].blue);
    }
  }
  return rows;
}

std::string compressed(const std::string& rows) {
  uLongf size = compressBound(rows.size());
  std::string result(size, '\0');
  const int outcome = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                                reinterpret_cast<const Bytef*>(rows.data()), rows.size(), kCompression);
  if (outcome != Z_OK)
    throw std::runtime_error("the sheet can't be compressed: zlib answers " + std::to_string(outcome));
  result.resize(size);
  return result;
}

}  // namespace

std::string png_of(const Canvas& canvas) {
  std::string head;
  append_number(head, static_cast<uint32_t>(canvas.width()));
  append_number(head, static_cast<uint32_t>(canvas.height()));
  head += {kBits, kTrueColour, 0, 0, 0};
  std::string file(kPngSignature);
  append_chunk(file, "IHDR", head);
  append_chunk(file, "IDAT", compressed(rows_of(canvas)));
  append_chunk(file, "IEND", "");
  return file;
}

}  // namespace spdld::sheet
