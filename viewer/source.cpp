#include "viewer/source.hpp"

#include <utility>

#include "command/common_options.hpp"
#include "transport/address.hpp"
#include "viewer/ssh_source.hpp"

namespace framewire {

std::vector<ViewedSource> sources_of(const Scene& scene, const SubscriberOptions& session) {
  std::vector<ViewedSource> sources;
  for (const SceneLayer& layer : scene.layers) {
    sources.push_back(layer.local ? source_of(*layer.local, session) : parse_source(layer.source, session, "source"));
    if (scene.layout == Layout::depth) {  // it merges what senders render on request; add_layer() has the others
      sources.back().drawn.reset();
    }
  }
  return sources;
}

ViewedSource source_of_stream(const ViewedSource& sender, const std::string& stream) {
  ViewedSource source = sender;
  source.subscriber.stream = stream;
  source.peer_text += "/" + stream;
  source.is_offered = true;
  return source;
}

ViewedSource parse_source(const std::string& text, SubscriberOptions session, std::string_view what) {
  if (is_ssh_source(text)) {
    return source_of(parse_ssh_source(text, what), session);
  }
  const StreamAddress address = parse_stream_address(text, what);
  ViewedSource source{
      .subscriber = std::move(session),
      .peer_text = format_host_port(address.host) + (address.stream.empty() ? "" : "/" + address.stream)};
  source.subscriber.endpoint.dial = address.host;
  source.subscriber.stream = address.stream;
  return source;
}

}  // namespace framewire
