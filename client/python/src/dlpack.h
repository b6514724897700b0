// DLPack's C structures, by which tensors cross between libraries: written down here from its published ABI,
// version 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html), so that nothing has to be installed for them.
// Ownership: the consumer of a managed tensor calls its deleter once, on any thread, with or without the GIL.
#pragma once

#include <cstdint>

namespace spdld::python::dlpack {

// DLDeviceType. Registered (pinned) host memory crosses as kCpu, not as kDLCUDAHost (3): numpy refuses that, and torch
// and jax find out by the address.
inline constexpr int32_t kCpu = 1;
inline constexpr int32_t kCuda = 2;

enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* address;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

// The content of a capsule called "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

inline constexpr uint64_t kFlagCopied = 2;

// The content of a capsule called "dltensor_versioned".
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};

inline constexpr Version kVersion = {1, 0};

static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);

}  // namespace spdld::python::dlpack
