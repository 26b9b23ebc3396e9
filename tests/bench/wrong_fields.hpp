// What every reader of a message must refuse.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace framewire::test {

/// Each field of a good message is left out, and replaced by what it cannot be.
void expect_every_wrong_field_refused(const nlohmann::json& good, void (*read)(const nlohmann::json&));

}  // namespace framewire::test
