#include "daemon/store/http/ca_file.h"

#include <unistd.h>

#include <cstdlib>

namespace spdld::store::http {

std::string find_ca_file(const Variable& variable, const std::vector<std::string>& usual) {
  for (const char* const name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"})
    if (const char* const given = variable(name); given != nullptr && *given != '\0') return given;
  for (const std::string& path : usual)
    if (::access(path.c_str(), R_OK) == 0) return path;
  return {};
}

const std::string& system_ca_file() {
  static const std::string file =
      find_ca_file([](const char* name) { return std::getenv(name); },
                   {
                       "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine, Gentoo
                       "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
                       "/etc/pki/tls/certs/ca-bundle.crt",                   // older ones of these
                       "/etc/ssl/ca-bundle.pem",                             // SUSE
                       "/etc/ssl/cert.pem",                                  // Alpine without its package, BSD's name
                   });
  return file;
}

bool is_about_authorities(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}

}  // namespace spdld::store::http
