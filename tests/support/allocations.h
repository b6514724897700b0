// Counts how often a test's program has asked for memory, to test code that must allocate nothing in steady state, and
// how much of it there is, to test what code says that it will take. The program links allocations_dep, which stands in
// the place of glibc's malloc; any thread may ask.
#pragma once

namespace spdld::test {

// False under the address, thread and memory sanitizers, which have a malloc of their own; allocations() is 0 then.
bool counts_allocations();

// Calls so far of malloc, calloc, realloc, aligned_alloc, posix_memalign and operator new, of this program and of the
// libraries that it loads. Catch2's checks allocate as well: read both counts before the first check.
long allocations();

// The bytes that are allocated now, and the most of them since restart_peak(); 0 under these sanitizers. Memory that is
// mapped otherwise does not count.
long long allocated_bytes();
long long allocated_peak_bytes();
void restart_peak();

}  // namespace spdld::test
