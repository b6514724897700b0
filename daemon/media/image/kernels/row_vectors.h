// Vectors of floats over a row of values, for one instruction set: Highway includes this file once for each of them,
// and so the guard is Highway's.
#if defined(SPDLD_IMAGE_ROW_VECTORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SPDLD_IMAGE_ROW_VECTORS_H
#undef SPDLD_IMAGE_ROW_VECTORS_H
#else
#define SPDLD_IMAGE_ROW_VECTORS_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace spdld::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
template <class D>
using Ints = hn::RebindToSigned<D>;
template <class D>
using Bytes = hn::Rebind<uint8_t, D>;

template <class D>
HWY_INLINE hn::Vec<Ints<D>> load_ints(D, const uint8_t* from) {
  return hn::PromoteTo(Ints<D>(), hn::LoadU(Bytes<D>(), from));
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) {
  return hn::ConvertTo(d, load_ints(d, from));
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE void store_bytes(D, hn::Vec<Ints<D>> values, uint8_t* to) {
  hn::StoreU(hn::DemoteTo(Bytes<D>(), values), Bytes<D>(), to);
}

// To the nearest whole numbers, ties to even, of values below 2^22: a sum with 1.5 * 2^23 has no bits below the point.
template <class D>
HWY_INLINE hn::Vec<D> to_wholes(D d, hn::Vec<D> v) {
  const auto whole_from = hn::Set(d, 12'582'912);
  return hn::Sub(hn::Add(v, whole_from), whole_from);
}

// Calls use.run(D, i) for vectors that cover all values; the last two may share some. Few values come one by one.
template <typename Use>
HWY_INLINE void each_vector(size_t count, const Use& use) {
  const Floats d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    for (size_t i = 0; i < count; ++i) use.run(hn::CappedTag<float, 1>(), i);
    return;
  }
  for (size_t i = 0; i + lanes < count; i += lanes) use.run(d, i);
  use.run(d, count - lanes);
}

}  // namespace spdld::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
