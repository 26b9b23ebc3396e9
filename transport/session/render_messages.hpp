// The messages of the control channel about frames that a viewer asks for, as transport/session/messages.hpp.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "transport/render_requests.hpp"

namespace framewire {

/// From the viewer: `render` asks for a frame, `revoke` no longer needs it, `release_camera` asks for no more. From the
/// sender to all viewers: it is `rendering` what one of them asked for; or to that one `no_render`: why it does not.
nlohmann::json render(const RenderRequest& request);
nlohmann::json rendering(const RenderRequest& request);
/// Of `render` and `rendering`.
RenderRequest read_render_request(const nlohmann::json& message);
nlohmann::json revoke_render(std::uint64_t id);
std::uint64_t read_revoke(const nlohmann::json& message);
nlohmann::json release_camera();
nlohmann::json no_render(const RenderRefusal& refusal);
/// A reason that is not known counts as RenderRefusal::Reason::busy.
RenderRefusal read_no_render(const nlohmann::json& message);

}  // namespace framewire
