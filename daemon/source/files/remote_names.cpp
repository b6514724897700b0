#include "daemon/source/files/remote_names.h"

#include <utility>

#include "daemon/source/parts.h"

namespace spdld::source {
namespace {

constexpr uint64_t kEmptyPagesMax = 1'000;  // that follow one another; stores make some of objects that were deleted

// Notices a store whose pages have no end. A cursor that comes again means that the pages form a ring. One cursor is
// remembered, that of page 1, 2, 4, 8 ..., and each later one is compared with it, which reads no page of a ring more
// than three times.
class PageWatch {
 public:
  explicit PageWatch(const std::string& where) : where_(where) {}

  void on_page(const store::List& list) {
    const bool is_empty = list.entries.empty() && list.folders.empty();
    empty_ = is_empty ? empty_ + 1 : 0;
    if (empty_ > kEmptyPagesMax)
      refuse("more than " + std::to_string(kEmptyPagesMax) + " pages without a name follow one another");
    if (list.cursor.empty()) return;
    if (list.cursor == remembered_) refuse("its pages come again and again");
    if (++pages_ < replaced_at_) return;
    remembered_ = list.cursor;
    replaced_at_ = 2 * pages_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw SetupError(Trouble::kUsage, "the list of " + where_ + " has no end: " + why + ".");
  }

  const std::string where_;
  std::string remembered_;
  uint64_t pages_ = 0, replaced_at_ = 1, empty_ = 0;
};

}  // namespace

void refuse_remote(const Error& error) {
  throw SetupError(error.trouble == Trouble::kContent ? Trouble::kNotFound : error.trouble, error.message);
}

ObjectLook::ObjectLook(store::Store& store, std::string object) : store_(store), waiting_(store) {
  stat_.object = std::move(object);
  waiting_.begin(stat_, &store::Store::stat);
}

ObjectLook::~ObjectLook() {
  if (!is_under_way_) return;
  store_.cancel(stat_);
  (void)waiting_.finish(stat_, {});
}

Status ObjectLook::finish(store::Identity& identity, const std::stop_token& stop) {
  Status status = waiting_.finish(stat_, stop);
  is_under_way_ = false;
  check_stop(stop);
  const Trouble trouble = status ? Trouble::kNotFound : status.error().trouble;
  if (trouble != Trouble::kNotFound && trouble != Trouble::kDenied) refuse_remote(status.error());
  identity = stat_.identity;
  return status;
}

void for_each_page(store::Store& store, const std::string& prefix, bool folds, const std::stop_token& stop,
                   const std::function<void(const store::List&)>& each_page) {
  store::Waiting waiting(store);
  store::List list;
  list.prefix = prefix;
  list.folds = folds;
  PageWatch watch(store.uri_of(prefix));
  do {
    check_stop(stop);
    const Status status = waiting.list(list, stop);
    check_stop(stop);
    if (!status) refuse_remote(status.error());
    watch.on_page(list);
    each_page(list);
  } while (!list.cursor.empty());
}

}  // namespace spdld::source
