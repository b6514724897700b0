#include "daemon/source/files/listed_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "daemon/source/files/bounds.h"
#include "daemon/source/files/file_identity.h"
#include "daemon/source/files/file_view.h"
#include "daemon/source/trouble.h"
#include "proto/unique_fd.h"

namespace spdld::source {
namespace {

class ListedFile final : public store::View {
 public:
  ListedFile(UniqueFd fd, const std::string& what, const store::Identity& identity)
      : fd_(std::move(fd)), what_(what), identity_(identity), file_(fd_.get(), what) {}

  uint64_t size() const override { return identity_.size; }
  // Looked at behind the bytes: a file that is written to while it is read would give a mixture. A file that another
  // one has replaced has changed too, for a link to it is gone.
  Result<uint64_t> read(uint64_t offset, std::span<uint8_t> to) override {
    auto got = file_.read(offset, to);
    struct stat status;
    if (::fstat(fd_.get(), &status) == 0 && !is_listed(status, identity_))
      return Error{Trouble::kContent, changed_since(what_)};
    return got;
  }

 private:
  const UniqueFd fd_;
  const std::string what_;
  const store::Identity identity_;
  FileView file_;
};

}  // namespace

Result<std::unique_ptr<store::View>> open_listed_file(const Bounds* bounds, const std::string& path,
                                                      const store::Identity& identity, const std::string& what) {
  UniqueFd fd(open_file(bounds, path.c_str()));
  if (!fd && errno == kLeadsOut) return Error{Trouble::kContent, leads_out(path)};
  if (!fd) return Error{content_trouble(errno), what + " can't be opened: " + error_words(errno) + "."};
  try {
    return std::unique_ptr<store::View>(std::make_unique<ListedFile>(std::move(fd), what, identity));
  } catch (const SetupError& error) {
    return Error{Trouble::kTransient, error.what()};
  }
}

}  // namespace spdld::source
