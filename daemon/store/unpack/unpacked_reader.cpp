#include "daemon/store/unpack/unpacked_reader.h"

#include <algorithm>

namespace spdld::store::unpack {

std::unique_ptr<Unpacker> make_unpacker(Compression compression) {
  return compression == Compression::kGzip ? make_gzip() : make_zstd();
}

UnpackedReader::UnpackedReader(View& packed, Compression compression)
    : packed_(packed),
      compression_(compression),
      unpacker_(make_unpacker(compression)),
      position_max_(unpacked_bytes_max(packed.size())) {}

Status UnpackedReader::refill() {
  const auto got = packed_.read(packed_at_, {input_.resize(kInputBytes), kInputBytes});
  if (!got) return got.error();
  input_at_ = 0;
  input_end_ = *got;
  packed_at_ += *got;
  has_input_ended_ = *got < kInputBytes;
  return Done{};
}

void UnpackedReader::end(const std::string& damage) {
  has_ended_ = true;
  if (damage.empty()) return;
  damage_ = damage + " at byte " + std::to_string(packed_position()) + " of " + std::to_string(packed_.size()) +
            " compressed ones";
}

Result<uint64_t> UnpackedReader::read(std::span<uint8_t> to) {
  const std::string kind(name_of(compression_));
  uint64_t done = 0;
  while (done < to.size() && !has_ended_) {
    if (input_at_ == input_end_ && !has_input_ended_)
      if (Status filled = refill(); !filled) return std::move(filled.error());
    const std::span<const uint8_t> from(input_.data() + input_at_, input_end_ - input_at_);
    const auto step = unpacker_->step(from, to.subspan(done));
    if (!step) {
      end("its " + kind + " data is damaged (" + step.error().message + ")");
      break;
    }
    memory_bytes_ = std::max(memory_bytes_, unpacker_->memory_bytes() + ByteBuffer::room_for(kInputBytes));
    input_at_ += step->taken;
    done += step->given;
    position_ += step->given;
    if (position_ > position_max_)
      end("its " + kind + " data unpacks to more than " + std::to_string(kUnpackedTimesMax) + " times its size");
    if (step->taken > 0 || step->given > 0) continue;
    if (!from.empty())
      end("its " + kind + " data is damaged (it comes to no end)");
    else if (has_input_ended_)
      end(unpacker_->is_whole() ? "" : "its " + kind + " data is cut");
  }
  return done;
}

}  // namespace spdld::store::unpack
