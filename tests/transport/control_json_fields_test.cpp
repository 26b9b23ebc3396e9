#include "transport/json_fields.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace framewire {
namespace {

using nlohmann::json;

/// Every kind of value as a field "f".
const std::vector<json> values = {nullptr, true, -1, 7, UINT64_MAX, 1.5, "text", json::array({1, 2}), json::object()};

json object_of(const json& value) {
  return {{"f", value}};
}

TEST(JsonFields, EachTakesItsTypeAlone) {
  for (const json& value : values) {
    const json object = object_of(value);
    EXPECT_EQ(find_text(object, "f") != nullptr, value.is_string()) << value;
    EXPECT_EQ(find_unsigned(object, "f").has_value(), value.is_number_unsigned()) << value;
    EXPECT_EQ(find_signed(object, "f").has_value(), value.dump() == "-1" || value.dump() == "7") << value;
    EXPECT_EQ(find_number(object, "f").has_value(), value.is_number()) << value;
    EXPECT_EQ(find_flag(object, "f").has_value(), value.is_boolean()) << value;
    EXPECT_EQ(find_array(object, "f") != nullptr, value.is_array()) << value;
    EXPECT_EQ(find_object(object, "f") != nullptr, value.is_object()) << value;
  }
}

TEST(JsonFields, WhatIsNoObjectHasNone) {
  for (const json& value : values) {
    EXPECT_FALSE(find_unsigned(value, "f")) << value;
    EXPECT_EQ(find_text(value, "f"), nullptr) << value;
    EXPECT_EQ(find_object(object_of(value), "g"), nullptr) << value;
  }
}

TEST(JsonFields, HaveLimits) {
  EXPECT_EQ(*find_text(object_of("text"), "f", 4), "text");
  EXPECT_EQ(find_text(object_of("text"), "f", 3), nullptr);
  EXPECT_EQ(find_unsigned(object_of(7U), "f", 7, 7), 7U);
  EXPECT_FALSE(find_unsigned(object_of(7U), "f", 8));
  EXPECT_FALSE(find_unsigned(object_of(7U), "f", 0, 6));
  EXPECT_EQ(find_unsigned(object_of(UINT64_MAX), "f"), UINT64_MAX);
  EXPECT_EQ(find_signed(object_of(INT64_MIN), "f"), INT64_MIN);
  EXPECT_NE(find_array(object_of({1, 2}), "f", 2), nullptr);
  EXPECT_EQ(find_array(object_of({1, 2}), "f", 1), nullptr);
  EXPECT_EQ(find_number(object_of(7), "f"), 7.0);
}

}  // namespace
}  // namespace framewire
