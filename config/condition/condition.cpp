#include "config/condition/condition.h"

namespace spdld::config {

Truths Condition::opposite_of(Truths truths) {
  return static_cast<Truths>((may_be(truths, Truth::kTrue) ? only(Truth::kFalse) : 0) |
                             (may_be(truths, Truth::kFalse) ? only(Truth::kTrue) : 0) |
                             (truths & only(Truth::kUnknown)));
}

// `and` of each of these with each of those: false where one is, true where both are, else unknown.
Truths Condition::both(Truths a, Truths b) {
  Truths truths = (a | b) & only(Truth::kFalse);
  truths |= a & b & only(Truth::kTrue);
  const Truths not_false = only(Truth::kTrue) | only(Truth::kUnknown);
  const bool may_be_unknown =
      (may_be(a, Truth::kUnknown) && (b & not_false) != 0) || (may_be(b, Truth::kUnknown) && (a & not_false) != 0);
  return may_be_unknown ? truths | only(Truth::kUnknown) : truths;
}

}  // namespace spdld::config
