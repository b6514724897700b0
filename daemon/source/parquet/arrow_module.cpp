#include "daemon/source/parquet/arrow_module.h"

extern "C" __attribute__((visibility("default"))) const spdld::source::parquet::ArrowFunctions*
spdld_arrow_functions() {
  using namespace spdld::source::parquet::with_arrow;
  static constexpr spdld::source::parquet::ArrowFunctions kFunctions = {&read_footer, &decode_chunk};
  return &kFunctions;
}
