#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {

OperationType parse_int() {
  return {.name = "parse-int",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kInteger,
          .help = "Decimal digits in ASCII, such as a webdataset's cls member, as an int64.",
          .parameters = {},
          .bind = [](const OperationSpec&, Signature& signature) { return bind_number(signature, integer()); },
          .reads_numbers = true};
}

}  // namespace spdld::config::ops
