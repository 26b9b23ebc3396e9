// The fields of messages of another host.
#include "ssh/message_fields.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace framewire {
namespace {

using Json = nlohmann::json;

std::string why_no_port(const Json& message) {
  try {
    port_in(message, "port");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::failed);
    return error.what();
  }
  return {};
}

TEST(MessageFields, APortIsOneThatCanBeDialled) {
  EXPECT_EQ(port_in({{"port", 1U}}, "port"), 1);
  EXPECT_EQ(port_in({{"port", 65535U}}, "port"), 65535);
  for (const Json& port : {Json(0U), Json(65536U), Json(-1), Json(65536U + 5290U), Json(1.5), Json(INT64_MIN)}) {
    EXPECT_EQ(why_no_port({{"port", port}}), "the other host says that it listens on port " + port.dump() +
                                                 ", which is not 1 to 65535; install the same framewire on both hosts");
  }
  for (const Json& message :
       {Json::object(), Json{{"port", "5290"}}, Json{{"port", Json::array({5290})}}, Json{{"port", nullptr}}}) {
    EXPECT_NE(why_no_port(message).find("'no number'"), std::string::npos) << message;
  }
}

/// It would end a program that goes through it by recursion.
TEST(MessageFields, AnyDepthIsRefusedInPeace) {
  const std::string depth(1 << 19, '[');
  const std::string text = R"({"port":)" + depth + std::string(depth.size(), ']') + "}";
  EXPECT_NE(why_no_port(Json::parse(text)).find("'no number'"), std::string::npos);
}

}  // namespace
}  // namespace framewire
