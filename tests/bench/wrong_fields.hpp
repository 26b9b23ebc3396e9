// Malformed messages that every reader must refuse.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace framewire::test {

/// Takes a valid message, and leaves out each field in turn, or replaces it by an invalid value. `read` must throw
/// an Error each time.
void expect_every_wrong_field_refused(const nlohmann::json& good, void (*read)(const nlohmann::json&));

}  // namespace framewire::test
