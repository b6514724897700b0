// A 128-bit XXH3 over the content of a listing. It is no defence against someone who seeks collisions. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace spdld::source {

class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  void add(std::string_view bytes);
  void add_text(
      std::string_view text);        // its length goes in too, so that neighbouring texts don't run into one another
  void add_number(uint64_t number);  // as eight bytes, little-endian
  std::string digits() const;        // 32 hexadecimal digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spdld::source
