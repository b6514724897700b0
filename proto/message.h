// Builds and reads the messages of control.fbs. A received message is verified (sizes, offsets, nesting; UTF-8 is not
// required) before any of it is read; nothing here throws on what the other side sent.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/control_generated.h"
#include "proto/seqpacket.h"

namespace spdld::proto {

inline constexpr uint16_t kVersionMin = 1;
inline constexpr uint16_t kVersionMax = 1;

// nullptr: not a message of this protocol.
const Message* parse(std::span<const uint8_t> bytes);

// A view of a string field; empty where it is absent. Stops at `bytes_max`.
std::string_view text_of(const flatbuffers::String* field, size_t bytes_max = kMessageBytesMax);

// Finishes a builder whose last table is `body`, and gives the bytes to send (valid while the builder lives).
template <typename T>
std::span<const uint8_t> finish(flatbuffers::FlatBufferBuilder& builder, Body type, flatbuffers::Offset<T> body) {
  builder.Finish(CreateMessage(builder, type, body.Union()), MessageIdentifier());
  return {builder.GetBufferPointer(), builder.GetSize()};
}

std::string_view name_of(ErrorCode code);
std::string_view name_of(DType dtype);
size_t bytes_of(DType dtype);

}  // namespace spdld::proto
