// One exchange by libcurl, on the network thread. It is reused for exchange after exchange, and libcurl keeps the
// connections.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/store/http/dialect.h"
#include "daemon/store/http/endpoint_limits.h"
#include "daemon/store/http/head.h"

namespace spdld::store::http {

// The answer of a transfer's user to its reply's head.
enum class Take : uint8_t {
  kBody,  // give me its bytes
  kText,  // keep the beginning of its body as a text: it says why
  kStop   // end it
};

class Transfer {
 public:
  class User {
   public:
    virtual Take on_head(Transfer& transfer) = 0;
    // False: end it.
    virtual bool on_body(Transfer& transfer, std::span<const uint8_t> bytes) = 0;

   protected:
    ~User() = default;
  };
  struct Settings {
    Limits limits;
    Reach reach;
    std::string ca_file;     // of the authorities that sign its certificate; empty: the system's
    std::string proxy = {};  // "http://server:port"; empty: none, whatever the environment says
  };

  Transfer();

  // Makes it ready to be added to a multi handle. Borrows `user`.
  void prepare(const Outgoing& outgoing, const Settings& settings, User& user);
  CURL* handle() const { return easy_.get(); }
  static Transfer& of(CURL* handle);
  User& user() const { return *user_; }
  uint64_t body_bytes() const { return body_bytes_; }

  // After its end: asks the user about the head of a reply without a body.
  void finish() { decide(); }
  const Head& head() const { return head_; }
  // The beginning of a body that was taken as a text.
  const std::string& text() const { return text_; }
  bool was_refused_address() const { return refused_address_; }
  // The words of libcurl for `code`, with its details.
  std::string words(CURLcode code) const;
  bool is_new_connection() const;

 private:
  static constexpr size_t kTextMax = 64 << 10;
  struct CloseEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  static size_t take_header(char* bytes, size_t size, size_t count, void* self);
  static size_t take_body(char* bytes, size_t size, size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  bool decide();

  std::unique_ptr<CURL, CloseEasy> easy_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::array<char, CURL_ERROR_SIZE> details_{};
  User* user_ = nullptr;
  Reach reach_;
  Head head_;
  bool is_decided_ = false, refused_address_ = false, has_ca_file_ = false;
  Take take_ = Take::kText;
  uint64_t body_bytes_ = 0;
  std::string text_;
};

// Whether an address is one of cloud_address.h.
bool is_cloud_address(const sockaddr& address);

}  // namespace spdld::store::http
