#include "base/bandwidth.hpp"

#include <array>
#include <cstdio>

namespace framewire {

std::string format_bandwidth(double bytes_per_s) {
  constexpr std::array units = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  double amount = bytes_per_s;
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < units.size()) {
    amount /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, amount, units.at(unit));
  return text.data();
}

std::string format_bandwidth(double bytes, double seconds) {
  return seconds > 0 ? format_bandwidth(bytes / seconds) : "-";
}

}  // namespace framewire
