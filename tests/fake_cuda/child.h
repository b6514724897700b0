// A process with the fake driver, made by fork(): the test's own process never loads it. A child that finds something
// wrong says so on stderr and ends badly; it speaks with the test over a socket.
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "proto/cuda/abi.h"
#include "proto/unique_fd.h"
#include "tests/support/fake_cuda/fake_cuda.h"

namespace spdld::test {

namespace abi = cuda::abi;

inline void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
inline void must_be(int code, int wanted, const std::string& what) {
  must(code == wanted, what + " gave " + std::to_string(code) + ", not " + std::to_string(wanted));
}
#define SPDLD_TEXT_OF(x) #x
#define SPDLD_LINE_OF(x) SPDLD_TEXT_OF(x)
#define MUST(expression) ::spdld::test::must((expression), __FILE__ ":" SPDLD_LINE_OF(__LINE__) ": " #expression)
#define GOOD(expression) ::spdld::test::must_be((expression), 0, __FILE__ ":" SPDLD_LINE_OF(__LINE__) ": " #expression)
#define GIVES(code, expression) \
  ::spdld::test::must_be((expression), (code), __FILE__ ":" SPDLD_LINE_OF(__LINE__) ": " #expression)

// One end of a socket: values as they lie in memory, and file descriptors. Throws when nothing comes for 10 s.
class Channel {
 public:
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {
    const timeval patience = {10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  template <typename Value>
  void tell(const Value& value, int fd = -1) {
    iovec part = {const_cast<Value*>(&value), sizeof value};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    if (fd >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    must(::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == sizeof value, "nobody listens");
  }
  template <typename Value>
  Value hear(UniqueFd* fd = nullptr) {
    Value value;
    iovec part = {&value, sizeof value};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    must(::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC) == sizeof value, "nobody speaks");
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && fd) {
      int got = -1;
      std::memcpy(&got, CMSG_DATA(header), sizeof got);
      fd->reset(got);
    }
    return value;
  }
  void go() { tell(char{1}); }
  void await() { hear<char>(); }

 private:
  UniqueFd fd_;
};

// The driver in this process, as programs load it.
struct Loaded : abi::Entries {
  void* library;
  Loaded() : library(::dlopen("libcuda.so.1", RTLD_NOW)) {
    must(library != nullptr, "libcuda.so.1 does not load");
    using Look = abi::Result (*)(const char*, void**, int, uint64_t, int*);
    const auto look = reinterpret_cast<Look>(::dlsym(library, "cuGetProcAddress_v2"));
    if (!look) return;
#define SPDLD_LOOK_UP(symbol, version, parameters)                                                              \
  must_be(look(#symbol, reinterpret_cast<void**>(&symbol), version, abi::kProcAddressLegacyStream, nullptr), 0, \
          #symbol);
    SPDLD_CUDA_ENTRIES(SPDLD_LOOK_UP)
#undef SPDLD_LOOK_UP
  }
  // With a context that is current.
  abi::Context start(int device = 0) const {
    GOOD(cuInit(0));
    abi::Context context = nullptr;
    GOOD(cuDevicePrimaryCtxRetain(&context, device));
    GOOD(cuCtxPushCurrent(context));
    return context;
  }
  // In the mode in which torch captures: global. At its end the capture must be valid still.
  void set_capturing(abi::Stream stream, bool capturing) const { MUST(capture(stream, capturing ? 1 : 0) == 0); }
  int capture(abi::Stream stream, int what) const {
    using Set = int (*)(void*, int);
    return reinterpret_cast<Set>(::dlsym(library, "spdld_fake_cuda_set_capturing"))(stream, what);
  }
};

class Child {
 public:
  using Body = std::function<void(const Loaded&, Channel&)>;
  Child(const FakeCuda& cuda, const Body& body) {
    std::array<int, 2> ends;
    must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
    UniqueFd here(ends[0]), there(ends[1]);
    pid_ = ::fork();
    must(pid_ >= 0, "fork");
    if (pid_ == 0) {
      here.reset();
      ::_exit(run(cuda, body, std::move(there)));
    }
    channel_ = std::make_unique<Channel>(std::move(here));
  }
  ~Child() {
    if (pid_ > 0) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  Channel& channel() { return *channel_; }
  bool ends_well() {
    int status = 0;
    const bool known = ::waitpid(std::exchange(pid_, -1), &status, 0) > 0;
    return known && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  // SIGKILL; a zombie until the test has it waited for.
  void kill() {
    ::kill(pid_, SIGKILL);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  static int run(const FakeCuda& cuda, const Body& body, UniqueFd fd) {
    try {
      Channel channel(std::move(fd));
      cuda.use_here();
      const Loaded driver;
      body(driver, channel);
      return 0;
    } catch (const std::exception& fault) {
      std::fprintf(stderr, "child: %s\n", fault.what());
      return 1;
    }
  }

  pid_t pid_;
  std::unique_ptr<Channel> channel_;
};

// One process alone.
inline bool runs_well(const FakeCuda& cuda, const std::function<void(const Loaded&)>& body) {
  return Child(cuda, [&](const Loaded& driver, Channel&) { body(driver); }).ends_well();
}

// The only violation, or what there is in its place.
inline std::string only_violation(const FakeCuda& cuda) {
  const auto all = cuda.violations();
  if (all.size() == 1) return all[0];
  std::string text = std::to_string(all.size()) + " violations";
  for (const auto& one : all) text += "\n" + one;
  return text;
}

}  // namespace spdld::test
