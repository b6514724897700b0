// Addresses that no store has: link-local ones, and those where clouds serve their machines' credentials and settings.
// Pure functions of an address's bytes, in network order.
#pragma once

#include <array>
#include <cstdint>

namespace spdld::store::http {

using Ipv4 = std::array<uint8_t, 4>;
using Ipv6 = std::array<uint8_t, 16>;

// 169.254.0.0/16, Alibaba's 100.100.100.200, Azure's 168.63.129.16, Oracle's 192.0.0.192.
bool is_cloud_address(const Ipv4& address);
// fe80::/10, Amazon's fd00:ec2::/32, Google's fd20:ce::254, Scaleway's fd00:42::42, and every form of an IPv6 address
// that stands for one of the IPv4 addresses above: mapped, compatible, translated, 6to4, NAT64, Teredo, ISATAP.
bool is_cloud_address(const Ipv6& address);

}  // namespace spdld::store::http
