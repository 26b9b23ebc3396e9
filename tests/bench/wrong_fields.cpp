#include "tests/bench/wrong_fields.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"

namespace framewire::test {

void expect_every_wrong_field_refused(const nlohmann::json& good, void (*read)(const nlohmann::json&)) {
  using nlohmann::json;
  EXPECT_NO_THROW(read(good));
  const std::vector<json> nonsense = {nullptr, "text", -1, 1.5, json::array(), json::object(), 1e300};
  for (const auto& [field, value] : good.items()) {
    json without = good;
    without.erase(field);
    EXPECT_THROW(read(without), Error) << field;
    for (const json& wrong : nonsense) {
      json changed = good;
      changed[field] = wrong;
      EXPECT_THROW(read(changed), Error) << field << " " << wrong.dump();
    }
  }
}

}  // namespace framewire::test
