#include "daemon/mixing/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "daemon/mixing/halves.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spdld::mixing::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2) || HWY_TARGET >= HWY_EMU128
// Highway's own conversion cuts off here instead of rounding.
size_t halves_kernel(float, float, size_t, hwy::float16_t*, const hwy::float16_t*) { return 0; }
#else
size_t halves_kernel(float part, float rest, size_t elements, hwy::float16_t* own, const hwy::float16_t* partner) {
  const hn::CappedTag<float, 16> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const auto own_part = hn::Set(d, part), partner_part = hn::Set(d, rest);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    const auto of_partner = hn::Mul(hn::PromoteTo(d, hn::LoadU(d16, partner + i)), partner_part);
    const auto of_own = hn::Mul(hn::PromoteTo(d, hn::LoadU(d16, own + i)), own_part);
    hn::StoreU(hn::DemoteTo(d16, hn::Add(of_partner, of_own)), d16, own + i);
  }
  return i;
}
#endif

}  // namespace
}  // namespace spdld::mixing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spdld::mixing {

HWY_EXPORT(halves_kernel);

size_t mix_halves(double lam, size_t elements, uint8_t* own, const uint8_t* partner) {
  return HWY_DYNAMIC_DISPATCH(halves_kernel)(static_cast<float>(lam), static_cast<float>(1.0 - lam), elements,
                                             reinterpret_cast<hwy::float16_t*>(own),
                                             reinterpret_cast<const hwy::float16_t*>(partner));
}

}  // namespace spdld::mixing
#endif  // HWY_ONCE
