#include "transport/session/render_messages.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

using nlohmann::json;

TEST(RenderMessages, ARequestForAFrameComesBackAsItWent) {
  for (const std::uint64_t id : {std::uint64_t{1}, UINT64_MAX}) {
    const RenderRequest request{.id = id, .camera = orbiting_camera(0.123, -0.7, 1e5), .time_ns = -5};
    EXPECT_EQ(read_render_request(json::parse(render(request).dump())), request);
    EXPECT_EQ(read_render_request(json::parse(rendering(request).dump())), request);
    EXPECT_EQ(read_revoke(revoke_render(id)), id);
  }
  EXPECT_EQ(render({})["type"], "render");
  EXPECT_EQ(rendering({})["type"], "rendering");
  EXPECT_EQ(release_camera()["type"], "release_camera");
}

TEST(RenderMessages, ARefusalSaysWhichRequestAndWhy) {
  using Reason = RenderRefusal::Reason;
  for (const Reason reason : {Reason::owned, Reason::busy, Reason::unsupported}) {
    const RenderRefusal refusal{.id = 7, .reason = reason, .text = "another viewer"};
    EXPECT_EQ(read_no_render(json::parse(no_render(refusal).dump())), refusal);
  }
  json message = no_render({.id = 7, .reason = Reason::owned, .text = "why"});
  message["reason"] = "of a newer sender";
  EXPECT_EQ(read_no_render(message).reason, Reason::busy);
  for (const char* const field : {"id", "reason", "text"}) {
    json without = message;
    without.erase(field);
    EXPECT_THROW(static_cast<void>(read_no_render(without)), Error) << field;
  }
}

TEST(RenderMessages, AWrongRequestForAFrameIsRefused) {
  const json good = render({.id = 7});
  const std::vector<json> nonsense = {nullptr, "7", json::object(), json::array({1, 2}), true, 1e300, -1e10};
  for (const std::string field : {"id", "camera", "field_of_view_rad", "time_ns"}) {
    json without = good;
    without.erase(field);
    EXPECT_THROW(read_render_request(without), Error) << field;
    for (const json& wrong : nonsense) {
      json changed = good;
      changed[field] = wrong;
      EXPECT_THROW(read_render_request(changed), Error) << field << " " << wrong.dump();
    }
  }
  for (std::size_t i = 0; i < 12; ++i) {
    for (const json& wrong : nonsense) {
      json changed = good;
      changed["camera"][i] = wrong;
      EXPECT_THROW(read_render_request(changed), Error) << i << " " << wrong.dump();
    }
  }
  json longer = good;
  longer["camera"].push_back(0);
  EXPECT_THROW(read_render_request(longer), Error);
  json zero = good;
  zero["id"] = 0;
  EXPECT_THROW(read_render_request(zero), Error);
  EXPECT_THROW(read_revoke({{"type", "revoke"}, {"id", -1}}), Error);
}

}  // namespace
}  // namespace framewire
