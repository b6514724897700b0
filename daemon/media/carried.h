// A value on its way from one segment of a chain to the next (config/segments.h): bytes, or a sample's tensor, in
// memory that both executors reach. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/signature.h"
#include "daemon/base/result.h"

namespace spdld::media {

// Memory that an executor shares with the decode threads. Any thread.
class ScratchMemory {
 public:
  virtual ~ScratchMemory() = default;
  // Aligned to 64 bytes; null: there is none now, and there may be some later. Precondition: bytes > 0.
  virtual uint8_t* take(uint64_t bytes) = 0;
  virtual void give_back(uint8_t* memory, uint64_t bytes) = 0;
};

class Carried {
 public:
  // Both are borrowed. `signature`: of kBytes or kTensor.
  Carried(ScratchMemory& scratch, const config::Signature& signature) : scratch_(&scratch), signature_(&signature) {}
  ~Carried() { give_back(); }
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;
  Carried(Carried&& other) noexcept;
  Carried& operator=(Carried&&) = delete;

  const config::Signature& signature() const { return *signature_; }

  // Room for so many bytes, or for a tensor of such a shape, for its writer; what was there before is gone. kContent:
  // the signature has no such shape, which the sentence tells. kMemory: there is no room now.
  Result<uint8_t*> open_bytes(uint64_t bytes);
  Result<uint8_t*> open(std::span<const int64_t> shape);
  // Of a tensor whose samples differ in their first dimension alone.
  Result<uint8_t*> open_rows(uint64_t rows);
  // The tensor has the signature's one shape, and is to lie there, in memory that stays somebody else's: open() gives
  // it.
  void lie_at(uint8_t* memory);
  void give_back();

  uint8_t* memory() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  std::span<const int64_t> shape() const { return shape_; }  // of a tensor
  uint32_t* length() { return &length_; }  // along the first dimension of a tensor whose samples differ

 private:
  Result<uint8_t*> take(uint64_t bytes);

  ScratchMemory* scratch_;
  const config::Signature* signature_;
  uint8_t* memory_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t taken_ = 0;  // of the scratch; 0: the memory is somebody else's, or there is none
  std::vector<int64_t> shape_;
  uint32_t length_ = 0;
};

}  // namespace spdld::media
