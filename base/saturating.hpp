// Arithmetic for times from files and peers: a result that does not fit is the nearest one that does.
#pragma once

#include <cstdint>

namespace framewire {

constexpr std::int64_t saturating_add(std::int64_t one, std::int64_t other) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? (one < 0 ? INT64_MIN : INT64_MAX) : sum;
}

constexpr std::int64_t saturating_subtract(std::int64_t from, std::int64_t taken) noexcept {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(from, taken, &difference) ? (from < 0 ? INT64_MIN : INT64_MAX) : difference;
}

constexpr std::int64_t saturating_multiply(std::int64_t one, std::int64_t other) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(one, other, &product) ? ((one < 0) != (other < 0) ? INT64_MIN : INT64_MAX) : product;
}

}  // namespace framewire
