#include "bench/verbs/verbs_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::array<std::string_view, 5> names{"send", "write", "write_imm", "read", "latency"};

}  // namespace

std::string_view name(VerbsOperation operation) noexcept {
  return names[static_cast<std::size_t>(operation)];
}

std::optional<VerbsOperation> verbs_operation_from_name(std::string_view wanted) noexcept {
  const auto found = std::ranges::find(names, wanted);
  return found == names.end() ? std::nullopt : std::optional(static_cast<VerbsOperation>(found - names.begin()));
}

void require_possible(const VerbsPlan& plan) {
  if (plan.message_bytes == 0 || plan.message_bytes > max_verbs_message_bytes || plan.slots == 0 ||
      plan.slots > max_verbs_slots || plan.message_bytes * plan.slots > max_verbs_memory_bytes) {
    throw Error::failed(std::to_string(plan.slots) + " messages of " + std::to_string(plan.message_bytes) +
                        " bytes in flight are too much for a verbs row; it takes up to " +
                        std::to_string(max_verbs_slots) + " of up to " + format_bytes(max_verbs_message_bytes) + ", " +
                        format_bytes(max_verbs_memory_bytes) + " in all");
  }
}

}  // namespace framewire
