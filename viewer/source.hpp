// Which stream of which sender a viewer shows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/session/subscriber.hpp"
#include "viewer/local_source.hpp"
#include "viewer/scene.hpp"

namespace framewire {

class Rendezvous;

/// A stream that the viewer is to show.
struct ViewedSource {
  SubscriberOptions subscriber;
  std::string peer_text;  // the awaited sender: "box:5290", or "a sender on *:5290"; "logo.png" of a local source
  std::optional<LocalSource> local{};
  std::optional<ShaderSource> drawn{};       // the viewer draws the local source itself; none: a program sends it
  std::shared_ptr<Rendezvous> rendezvous{};  // with the sender of a local source on another host
  bool is_offered = false;                   // nobody named it: its sender offers it
};

/// The sources of a scene's layers, in their order; the rest is that of `session`. Throws Error (usage).
std::vector<ViewedSource> sources_of(const Scene& scene, const SubscriberOptions& session);

/// Another stream of the same sender, which offers it.
ViewedSource source_of_stream(const ViewedSource& sender, const std::string& stream);

/// Reads HOST[:PORT][/STREAM], or what parse_ssh_source() reads; the rest is that of `session`. Throws Error (usage)
/// that calls the text `what`.
ViewedSource parse_source(const std::string& text, SubscriberOptions session, std::string_view what);

}  // namespace framewire
