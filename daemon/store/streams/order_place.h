// How far the readers of an order have come, so that what lies behind them can leave. One thread at a time.
#pragma once

#include <cstdint>
#include <utility>

namespace spdld::store::streams {

class OrderPlace {
 public:
  // As BlockStore::expect() has `place` and `horizon`.
  void go_on(uint64_t place, uint64_t horizon) {
    // A jump, or another job that stands elsewhere, says nothing of the way that the order has gone.
    if (place > reference_ && place - reference_ <= horizon) now_ += place - reference_;
    if (place > reference_ || reference_ - place > horizon) reference_ = place;
    horizon_ = horizon;
  }
  uint64_t now() const { return now_; }
  // Whether the order is past what was last of use at `place`.
  bool is_past(uint64_t place) const { return place + horizon_ < now_; }
  bool has_order() const { return horizon_ > 0; }
  // Whether it is to be said that `pressed` pieces had to leave though the order was not past them: once, and not of a
  // few, for some may have to where two jobs read at different places.
  bool tells_of(uint64_t pressed) {
    return pressed >= kPressedToldAt && has_order() && !std::exchange(has_told_, true);
  }

 private:
  static constexpr uint64_t kPressedToldAt = 64;

  uint64_t now_ = 0;        // how far readers have gone on
  uint64_t reference_ = 0;  // the place that go_on() was told of, as far as it went on without a jump
  uint64_t horizon_ = 0;
  bool has_told_ = false;
};

}  // namespace spdld::store::streams
