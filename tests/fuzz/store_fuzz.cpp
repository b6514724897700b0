// What stores and services of credentials send: a page of a listing, an error of S3, a document of credentials, and the
// profile files. The first byte chooses the reader. An error must be one sentence, and what is given must be bounded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/formats/utc_time.h"
#include "daemon/store/credentials/document.h"
#include "daemon/store/credentials/ini.h"
#include "daemon/store/s3/encoding.h"
#include "daemon/store/s3/error_text.h"
#include "daemon/store/s3/list_page.h"
#include "utf8/utf8.h"

namespace {

using namespace spdld;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_sentence(const Error& error) {
  require(error.message.ends_with('.') && error.message.find('\n') == std::string::npos);
}

void read_page(std::string_view text) {
  const auto page = store::s3::read_list_page(text, "the listing");
  if (!page) return require_sentence(page.error());
  const char* const begin = page->text.get();
  const auto lies_inside = [&](std::string_view name) {
    return name.empty() || (name.data() >= begin && name.data() + name.size() <= begin + text.size());
  };
  for (const auto& object : page->objects) {
    require(!object.key.empty() && object.key.size() <= store::s3::kKeyBytesMax);
    require(lies_inside(object.key) && lies_inside(object.etag) && object.modified_s >= -86400);
  }
  for (const std::string_view prefix : page->prefixes) require(lies_inside(prefix));
}

void read_error(std::string_view text) {
  const auto error = store::s3::read_error_text(text);
  if (!error) return;
  for (const std::string& part : {error->code, error->message, error->region})
    require(part.size() <= 400 && utf8::is_utf8(part) && !utf8::has_control(part));
  require(!error->code.empty());
}

void read_ini(std::string_view text) {
  const auto file = store::read_ini(text, "the file");
  if (!file) return require_sentence(file.error());
  size_t entries = 0;
  for (const auto& [name, section] : *file) {
    require(!name.empty() || text.find('[') != std::string_view::npos);
    entries += 1 + section.size();
    for (const auto& [key, value] : section) require(!key.empty() && value.find('\n') == std::string::npos);
  }
  require(entries <= text.size());
}

void read_document(std::string_view text) {
  for (const auto& read : {store::read_credentials_json(text, "it"), store::read_credentials_xml(text, "it")}) {
    if (!read) {
      require_sentence(read.error());
      continue;
    }
    require(!read->access_key.empty() && !read->secret_key.empty());
    for (const char c : read->access_key + read->secret_key + read->session_token) require(c > ' ' && c < 0x7F);
  }
  const std::string words = store::sts_error_words(text, "secret");
  require(utf8::is_utf8(words) && !utf8::has_control(words) && words.find("secret") == std::string::npos);
  (void)parse_utc(text);
}

// What is encoded is decoded to what it was.
void encode(std::string_view text) {
  std::string encoded;
  store::s3::append_encoded(encoded, text);
  const size_t size = store::s3::decode_in_place(encoded.data(), encoded.size());
  require(size == text.size() && std::string_view(encoded).substr(0, size) == text);
  std::string any(text);
  const size_t decoded = store::s3::decode_in_place(any.data(), any.size());
  require(decoded == SIZE_MAX || decoded <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 1) return 0;
  const std::vector<char> copy(bytes + 1, bytes + size);  // so that reading behind its end shows
  const std::string_view text(copy.data(), copy.size());
  switch (bytes[0] % 5) {
    case 0:
      read_page(text);
      break;
    case 1:
      read_error(text);
      break;
    case 2:
      read_ini(text);
      break;
    case 3:
      read_document(text);
      break;
    default:
      encode(text);
      break;
  }
  return 0;
}
