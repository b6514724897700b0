#include "client/python/src/kept.h"

#include <atomic>
#include <memory>

namespace spdld::python {

namespace {

// A list of those let go, so that letting go needs no memory.
struct Kept {
  PyObject* object;
  Kept* next = nullptr;
};
std::atomic<Kept*> let_go_first{nullptr};

}  // namespace

void* keep(nanobind::handle object) {
  auto kept = std::make_unique<Kept>(Kept{object.ptr()});
  Py_INCREF(kept->object);
  return kept.release();
}

void let_go(void* kept) noexcept {
  auto* one = static_cast<Kept*>(kept);
  one->next = let_go_first.load();
  while (!let_go_first.compare_exchange_weak(one->next, one)) continue;
}

void drop_objects_let_go() {
  if (!let_go_first.load(std::memory_order_relaxed)) return;
  Kept* first = let_go_first.exchange(nullptr);
  while (first) {
    const std::unique_ptr<Kept> one(first);
    first = one->next;
    Py_DECREF(one->object);
  }
}

}  // namespace spdld::python
