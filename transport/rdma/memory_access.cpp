#include "transport/rdma/memory_access.hpp"

#include <exception>
#include <limits>
#include <nlohmann/json.hpp>

#include "transport/json_fields.hpp"

namespace framewire {

namespace {

using nlohmann::json;

/// Reads a field as an unsigned number that fits `value`. False for anything else.
template <typename Number>
bool read(const json& object, const char* field, Number& value) {
  const auto number = find_unsigned(object, field, 0, std::numeric_limits<Number>::max());
  value = static_cast<Number>(number.value_or(0));
  return number.has_value();
}

std::optional<json> object_from(const LinkDescription& description) {
  json object = json::parse(description, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

}  // namespace

LinkDescription describe(const RingAccess& access) {
  json out{{"payload_address", access.payload_address}, {"payload_key", access.payload_key},
           {"cells_address", access.cells_address},     {"cells_key", access.cells_key},
           {"cells_per_slot", access.cells_per_slot},   {"receive_depth", access.receive_depth}};
  if (!access.cells_take_payload) {
    out["cells_take_payload"] = false;
  }
  return out.dump();
}

LinkDescription describe(const PoolAccess& access) {
  return json{{"payload_address", access.payload_address},
              {"payload_key", access.payload_key},
              {"board_address", access.directory_address},
              {"board_key", access.directory_key},
              {"slots", access.slots}}
      .dump();
}

std::optional<RingAccess> ring_access_from(const LinkDescription& description) noexcept {
  try {
    RingAccess access;
    const auto object = object_from(description);
    const bool is_whole =
        object && read(*object, "payload_address", access.payload_address) &&
        read(*object, "payload_key", access.payload_key) && read(*object, "cells_address", access.cells_address) &&
        read(*object, "cells_key", access.cells_key) && read(*object, "cells_per_slot", access.cells_per_slot) &&
        read(*object, "receive_depth", access.receive_depth);
    if (is_whole) {
      access.cells_take_payload = find_flag(*object, "cells_take_payload").value_or(true);
    }
    return is_whole ? std::optional(access) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<PoolAccess> pool_access_from(const LinkDescription& description) noexcept {
  try {
    PoolAccess access;
    const auto object = object_from(description);
    const bool is_whole = object && read(*object, "payload_address", access.payload_address) &&
                          read(*object, "payload_key", access.payload_key) &&
                          read(*object, "board_address", access.directory_address) &&
                          read(*object, "board_key", access.directory_key) && read(*object, "slots", access.slots);
    return is_whole ? std::optional(access) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace framewire
