#include "viewer/ring_shortage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/saturating.hpp"
#include "viewer/report.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t fewest_slots = 3;
/// For the frame that is drawn, and the next that arrives.
constexpr std::uint32_t slots_beside = 2;

}  // namespace

std::int64_t longest_wait_ns(std::uint32_t slots, std::uint32_t most_useful, std::int64_t period_ns) noexcept {
  return saturating_multiply(std::clamp(slots, fewest_slots, most_useful) - slots_beside, period_ns);
}

std::optional<RingShortage> find_ring_shortage(std::uint32_t slots, std::uint32_t most_useful, std::int64_t period_ns,
                                               std::int64_t wanted_ns) noexcept {
  const std::int64_t allowed_ns = longest_wait_ns(slots, most_useful, period_ns);
  if (period_ns <= 0 || slots == 0 || slots >= most_useful || wanted_ns <= allowed_ns) {
    return std::nullopt;
  }
  const std::int64_t periods = (wanted_ns - 1) / period_ns + 1;
  const bool would_do = periods <= std::int64_t{most_useful} - slots_beside;
  return RingShortage{.slots = slots,
                      .needed = would_do ? static_cast<std::uint32_t>(periods) + slots_beside : most_useful,
                      .would_do = would_do,
                      .allowed_ns = allowed_ns,
                      .wanted_ns = wanted_ns};
}

std::string describe(const RingShortage& shortage, bool is_synchronised) {
  return fmt::format(
      "frames need to wait {} ms to be shown {}, and --slots {} of the sender allows {} ms; start it with "
      "--slots {}{}",
      format_ms(shortage.wanted_ns), is_synchronised ? "with those of other streams" : "evenly", shortage.slots,
      format_ms(shortage.allowed_ns), shortage.needed, shortage.would_do ? "" : ", the most that help");
}

}  // namespace framewire
