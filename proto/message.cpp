#include "proto/message.h"

#include <cstdint>

namespace spdld::proto {

namespace {

// Deeper or larger than any message of the schema.
constexpr flatbuffers::uoffset_t kDepthMax = 8;
constexpr flatbuffers::uoffset_t kTablesMax = 4096;

// FlatBuffers' verifier looks at the place of a vector's length, and not at the place of its elements. A read of eight
// bytes at another place is undefined.
template <typename Element>
bool is_aligned(const flatbuffers::Vector<Element>* vector) {
  return !vector || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(uint64_t) == 0;
}

// Whether all vectors with elements of eight bytes, or of structs with such fields, lie at places for them.
bool is_aligned(const Message& message) {
  if (const Ready* ready = message.body_as_Ready()) {
    for (flatbuffers::uoffset_t i = 0; ready->tensors() && i < ready->tensors()->size(); ++i) {
      const TensorDescriptor* tensor = ready->tensors()->Get(i);
      if (!is_aligned(tensor->shape()) || !is_aligned(tensor->strides())) return false;
    }
  }
  if (const Attached* attached = message.body_as_Attached()) {
    for (flatbuffers::uoffset_t i = 0; attached->outputs() && i < attached->outputs()->size(); ++i)
      if (!is_aligned(attached->outputs()->Get(i)->shape())) return false;
  }
  if (const Push* push = message.body_as_Push()) return is_aligned(push->ids());
  if (const Seek* seek = message.body_as_Seek()) return is_aligned(seek->keeps());
  if (const Detach* detach = message.body_as_Detach()) return is_aligned(detach->keeps());
  return true;
}

}  // namespace

const Message* parse(std::span<const uint8_t> bytes) {
  // FlatBuffers reads through aligned pointers, and before its verifier looks: the start must be aligned as well.
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0;
  const size_t header_bytes = sizeof(flatbuffers::uoffset_t) + flatbuffers::kFileIdentifierLength;
  if (!aligned || bytes.size() < header_bytes || bytes.size() > kMessageBytesMax) return nullptr;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kDepthMax, kTablesMax);
  if (!verifier.VerifyBuffer<Message>(MessageIdentifier())) return nullptr;
  const Message* message = flatbuffers::GetRoot<Message>(bytes.data());
  // The verifier lets union members of a newer schema pass unread.
  if (message->body_type() == Body::NONE || message->body_type() > Body::MAX || !message->body()) return nullptr;
  return is_aligned(*message) ? message : nullptr;
}

std::string_view text_of(const flatbuffers::String* field, size_t bytes_max) {
  if (!field) return {};
  return std::string_view(field->c_str(), field->size()).substr(0, bytes_max);
}

std::string_view name_of(ErrorCode code) {
  const char* name = code > ErrorCode::MAX ? "" : EnumNameErrorCode(code);
  return *name ? name : "unknown";
}

std::string_view name_of(DType dtype) {
  if (dtype == DType::bool_) return "bool";  // flatc writes "bool_", because bool is a word of C++
  const char* name = dtype > DType::MAX ? "" : EnumNameDType(dtype);
  return *name ? name : "unknown";
}

size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
    case DType::bool_:
      return 1;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int32:
    case DType::uint32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
    case DType::complex64:
      return 8;
    case DType::complex128:
      return 16;
  }
  return 0;
}

}  // namespace spdld::proto
