#include "tests/support/fake_cuda/event.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

namespace spdld::test::fake {

namespace {

UniqueFd make_page() {
  UniqueFd fd(::memfd_create("spdld-fake-cuda-event", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), sizeof(EventPage)) != 0)
    throw std::system_error(errno, std::generic_category(), "memfd of an event");
  return fd;
}

EventPage* map_page(int fd) {
  void* mapped = ::mmap(nullptr, sizeof(EventPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of an event");
  return static_cast<EventPage*>(mapped);
}

// Whose maker has closed it meanwhile is another file, of any size.
EventPage* open_page(int fd, uint64_t id) {
  struct stat stat;
  if (::fstat(fd, &stat) != 0 || stat.st_size != sizeof(EventPage))
    throw std::system_error(ESTALE, std::generic_category(), "an event that is gone");
  EventPage* page = map_page(fd);
  if (page->id.load() == id) return page;
  ::munmap(page, sizeof(EventPage));
  throw std::system_error(ESTALE, std::generic_category(), "an event that is gone");
}

}  // namespace

int open_shared(const ShareNote& note) {
  const std::string path = "/proc/" + std::to_string(note.exporter.pid) + "/fd/" + std::to_string(note.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  return fd >= 0 ? fd : -errno;
}

Event::Event(std::shared_ptr<Context> context, unsigned flags) : context_(std::move(context)) {
  if (flags & cuda::abi::kEventInterprocess) {
    fd_ = make_page();
    page_ = map_page(fd_.get());
    static std::atomic<uint64_t> last{0};
    page_->id.store(last.fetch_add(1) + 1);
  } else {
    own_page_ = std::make_unique<EventPage>();
    page_ = own_page_.get();
  }
}

Event::Event(std::shared_ptr<Context> context, const ShareNote& note, UniqueFd fd)
    : context_(std::move(context)),
      exporter_(note.exporter),
      fd_(std::move(fd)),
      page_(open_page(fd_.get(), note.id)) {}

Event::~Event() {
  if (fd_) ::munmap(page_, sizeof(EventPage));
}

ShareNote Event::note() const { return {kEventMagic, own_key(), fd_.get(), 0, page_->id.load(), sizeof(EventPage)}; }

void Event::complete(uint64_t ticket) {
  uint64_t before = page_->completed.load();
  while (before < ticket && !page_->completed.compare_exchange_weak(before, ticket)) continue;
  wake();
}

void Event::wake() const {
  page_->bell.fetch_add(1);
  ::syscall(SYS_futex, &page_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Event::wait(uint64_t ticket, const std::function<bool()>& stop) const {
  constexpr timespec kLook = {0, 20'000'000};  // `stop` may rest on something that rings no bell
  while (true) {
    const uint32_t heard = page_->bell.load();
    if (is_through(ticket) || stop()) return;
    ::syscall(SYS_futex, &page_->bell, FUTEX_WAIT, heard, &kLook, nullptr, 0);
  }
}

void Event::mark_destroyed() {
  if (is_foreign()) return;
  page_->destroyed.store(1);
  wake();
}

}  // namespace spdld::test::fake
