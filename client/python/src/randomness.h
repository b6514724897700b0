// The random generators of a worker, which stand at a state that follows from the sample before each call of a user's
// function. With the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "client/src/crew/random_state.h"

namespace spdld::python {

class Randomness {
 public:
  // Addresses of memory that lives as long as this object, and is laid out as client/src/crew/random_state.h says: the
  // caller has tried that.
  void of_python(uintptr_t memory, nanobind::object instance);
  void of_numpy(uintptr_t memory, uintptr_t has_normal);
  void of_generator(uintptr_t memory);
  // set_state(tensor) is called after each reset, and the tensor's bytes lie at `memory`.
  void of_torch(uintptr_t memory, nanobind::object set_state, nanobind::object tensor);
  // Called with the key at each reset, for a generator whose memory is laid out otherwise.
  void also(nanobind::object seed) { seeds_.push_back(std::move(seed)); }

  // The generator for functions with a parameter rng; None where there is none.
  nanobind::object rng = nanobind::none();

  // Further generators of the same kind, for functions that are given several of them at once. `make`: returns one, its
  // address as of_generator()'s or 0, and a function that seeds it with a key in its place.
  void of_generators(nanobind::object make) { make_rng_ = std::move(make); }
  // The generator of this number, from 0 on, at the state that `rng` has behind a reset with this key.
  nanobind::object rng_at(size_t number, uint64_t key);

  // `key`: from client::call_key(). Throws what a library throws.
  void reset(uint64_t key);
  uint64_t key() const { return key_; }  // of the last reset
  // Sets torch's generator alone, for the key of the last reset: torch was imported during the call.
  void reset_torch();

 private:
  void tell_torch();

  client::RandomState state_;
  uint64_t key_ = 0;
  nanobind::object python_, set_torch_state_, torch_state_;
  std::vector<nanobind::object> seeds_;
  struct Further {
    nanobind::object generator;
    client::NumpyPcg* memory;  // null: `seed` sets its state
    nanobind::object seed;
  };
  nanobind::object make_rng_;
  std::vector<Further> further_;
};

void bind_randomness(nanobind::module_& module);

}  // namespace spdld::python
