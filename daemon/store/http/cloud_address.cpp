#include "daemon/store/http/cloud_address.h"

#include <algorithm>
#include <initializer_list>

namespace spdld::store::http {
namespace {

bool begins_with(const Ipv6& address, std::initializer_list<uint8_t> bytes, size_t from = 0) {
  return std::equal(bytes.begin(), bytes.end(), address.begin() + static_cast<ptrdiff_t>(from));
}

Ipv4 four_at(const Ipv6& address, size_t at) {
  return {address[at], address[at + 1], address[at + 2], address[at + 3]};
}

// Whether the address stands for an IPv4 address that is a cloud's.
bool holds_cloud_address(const Ipv6& address) {
  const bool is_low = begins_with(address, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0});  // RFC 4291, 2.5.5: compatible, mapped
  const bool is_translated = begins_with(address, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0});  // RFC 2765
  const bool is_nat64 = begins_with(address, {0, 0x64, 0xff, 0x9b});                            // RFC 6052, RFC 8215
  const bool is_isatap =                                                                        // RFC 5214
      begins_with(address, {0, 0, 0x5e, 0xfe}, 8) || begins_with(address, {2, 0, 0x5e, 0xfe}, 8);
  if ((is_low || is_translated || is_nat64 || is_isatap) && is_cloud_address(four_at(address, 12))) return true;
  // Prefixes of 48 bits have the address around the byte 8, which is zero.
  if (is_nat64 && is_cloud_address(Ipv4{address[6], address[7], address[9], address[10]})) return true;
  if (begins_with(address, {0x20, 0x02}) && is_cloud_address(four_at(address, 2))) return true;  // RFC 3056
  if (!begins_with(address, {0x20, 0x01, 0, 0})) return false;                                   // RFC 4380
  Ipv4 client = four_at(address, 12);
  for (uint8_t& byte : client) byte = static_cast<uint8_t>(~byte);
  return is_cloud_address(client);
}

}  // namespace

bool is_cloud_address(const Ipv4& address) {
  constexpr std::array<Ipv4, 3> kSingle = {{{100, 100, 100, 200}, {168, 63, 129, 16}, {192, 0, 0, 192}}};
  return (address[0] == 169 && address[1] == 254) ||
         std::find(kSingle.begin(), kSingle.end(), address) != kSingle.end();
}

bool is_cloud_address(const Ipv6& address) {
  constexpr Ipv6 kGoogle = {0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  constexpr Ipv6 kScaleway = {0xfd, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42};
  const bool is_link_local = address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
  const bool is_amazon = begins_with(address, {0xfd, 0, 0x0e, 0xc2});
  return is_link_local || is_amazon || address == kGoogle || address == kScaleway || holds_cloud_address(address);
}

}  // namespace spdld::store::http
