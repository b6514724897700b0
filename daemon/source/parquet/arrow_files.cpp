#include "daemon/source/parquet/arrow_files.h"

#include <dlfcn.h>

#include <utility>

#include "daemon/source/parquet/arrow_module.h"
#include "daemon/source/parquet/class_labels.h"

namespace spdld::source::parquet {
namespace {

struct Loaded {
  const ArrowFunctions* functions = nullptr;
  std::string why_not;
};

// Stays until the process ends. Its symbols are seen by nobody else.
Loaded load() {
  void* const module = ::dlopen(kArrowModule, RTLD_NOW | RTLD_LOCAL);
  void* const symbol = module == nullptr ? nullptr : ::dlsym(module, kArrowSymbol);
  if (symbol != nullptr) return {reinterpret_cast<GetArrowFunctions>(symbol)(), {}};
  const char* const why = ::dlerror();
  return {nullptr, why == nullptr ? "it lacks a function" : why};
}

const Loaded& arrow() {
  static const Loaded loaded = load();
  return loaded;
}

}  // namespace

Footer read_footer(store::View& view, const std::string& name, Statistics* statistics) {
  if (arrow().functions != nullptr) {
    Footer footer = arrow().functions->read_footer(view, name, statistics);
    footer.classes = class_labels_in(std::exchange(footer.features, {}));
    return footer;
  }
  throw SetupError(Trouble::kUnsupported,
                   name + ": this spdld reads no Parquet, for its part with Arrow C++ can't be loaded (" +
                       arrow().why_not +
                       "): build it where pkg-config finds arrow and parquet, or after deploy/install-arrow.");
}

Result<ColumnValues> decode_chunk(const ChunkToDecode& what, std::span<const uint8_t> bytes) {
  if (arrow().functions != nullptr) return arrow().functions->decode_chunk(what, bytes);
  return Error{Trouble::kUnsupported, "can't be decoded without Arrow C++"};
}

}  // namespace spdld::source::parquet
