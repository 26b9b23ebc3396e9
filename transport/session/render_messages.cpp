#include "transport/session/render_messages.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "transport/session/message_fields.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

using message_fields::array_field;
using message_fields::number_field;
using message_fields::reason_field;
using message_fields::wrong_field;
using nlohmann::json;

namespace {

struct ReasonName {
  RenderRefusal::Reason reason{};
  std::string_view text;
};
constexpr std::array<ReasonName, 3> reason_names{{{RenderRefusal::Reason::owned, "owned"},
                                                  {RenderRefusal::Reason::busy, "busy"},
                                                  {RenderRefusal::Reason::unsupported, "unsupported"}}};

json render_message(const char* type, const RenderRequest& request) {
  return {{"type", type},
          {"id", request.id},
          {"camera", request.camera.to_world},
          {"field_of_view_rad", request.camera.field_of_view_rad},
          {"time_ns", request.time_ns}};
}

/// A number as it was, or NaN.
float number_or_nan(const json& value) {
  return value.is_number() ? static_cast<float>(value.get<double>()) : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

json render(const RenderRequest& request) {
  return render_message("render", request);
}

json rendering(const RenderRequest& request) {
  return render_message("rendering", request);
}

RenderRequest read_render_request(const json& message) {
  RenderRequest request{.id = number_field<std::uint64_t>(message, "id"),
                        .time_ns = number_field<std::int64_t>(message, "time_ns")};
  const json& camera = array_field(message, "camera", request.camera.to_world.size());
  const auto opening = message.find("field_of_view_rad");
  if (request.id == 0) {
    throw wrong_field(message, "id");
  }
  if (camera.size() != request.camera.to_world.size() || opening == message.end()) {
    throw wrong_field(message, "camera");
  }
  std::ranges::transform(camera, request.camera.to_world.begin(), number_or_nan);
  request.camera.field_of_view_rad = number_or_nan(*opening);
  if (!is_possible(request.camera)) {
    throw wrong_field(message, "camera");
  }
  return request;
}

json revoke_render(std::uint64_t id) {
  return {{"type", "revoke"}, {"id", id}};
}

std::uint64_t read_revoke(const json& message) {
  expect_type(message, "revoke");
  return number_field<std::uint64_t>(message, "id");
}

json release_camera() {
  return {{"type", "release_camera"}};
}

json no_render(const RenderRefusal& refusal) {
  const auto* const name = std::ranges::find(reason_names, refusal.reason, &ReasonName::reason);
  return {{"type", "no_render"}, {"id", refusal.id}, {"reason", name->text}, {"text", refusal.text}};
}

RenderRefusal read_no_render(const json& message) {
  expect_type(message, "no_render");
  RenderRefusal refusal{.id = number_field<std::uint64_t>(message, "id"), .text = reason_field(message, "text")};
  const auto* const name = std::ranges::find(reason_names, reason_field(message, "reason"), &ReasonName::text);
  if (name != reason_names.end()) {
    refusal.reason = name->reason;
  }
  return refusal;
}

}  // namespace framewire
