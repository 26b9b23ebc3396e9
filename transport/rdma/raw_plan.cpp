#include "transport/rdma/raw_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::array<std::string_view, 5> names{"send", "write", "write_imm", "read", "latency"};

}  // namespace

std::string_view name(RawOperation operation) noexcept {
  return names[static_cast<std::size_t>(operation)];
}

std::optional<RawOperation> raw_operation_from_name(std::string_view wanted) noexcept {
  const auto found = std::ranges::find(names, wanted);
  return found == names.end() ? std::nullopt : std::optional(static_cast<RawOperation>(found - names.begin()));
}

void require_possible(const RawPlan& plan) {
  if (plan.message_bytes == 0 || plan.message_bytes > most_raw_message_bytes || plan.slots == 0 ||
      plan.slots > most_raw_slots || plan.message_bytes * plan.slots > most_raw_memory_bytes) {
    throw Error::failed(std::to_string(plan.slots) + " messages of " + std::to_string(plan.message_bytes) +
                        " bytes under way are too much for the verbs; they take up to " +
                        std::to_string(most_raw_slots) + " of up to " + format_bytes(most_raw_message_bytes) + ", " +
                        format_bytes(most_raw_memory_bytes) + " in all");
  }
}

}  // namespace framewire
