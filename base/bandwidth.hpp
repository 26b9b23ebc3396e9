// Bandwidths for people.
#pragma once

#include <string>

namespace framewire {

/// "1.05 GB/s", "100 MB/s", "8.01 kB/s", "12 B/s": three digits, in the unit that fits. Powers of 1000, as in
/// format_bytes() of base/text.hpp.
std::string format_bandwidth(double bytes_per_s);

/// The same for `bytes` in `seconds`; "-" if there was no time.
std::string format_bandwidth(double bytes, double seconds);

}  // namespace framewire
