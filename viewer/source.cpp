#include "viewer/source.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/address.hpp"
#include "viewer/ssh_source.hpp"

namespace framewire {

namespace {

HostPort dialled_host(const std::string& text, std::string_view what) {
  try {
    return parse_dialled(text, default_frame_port);
  } catch (const Error& error) {
    throw error.with_context(what);
  }
}

}  // namespace

std::vector<ViewedSource> sources_of(const Scene& scene, const SubscriberOptions& session) {
  std::vector<ViewedSource> sources;
  for (const SceneLayer& layer : scene.layers) {
    sources.push_back(layer.local ? source_of(*layer.local, session) : parse_source(layer.source, session, "source"));
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
  ViewedSource source{.subscriber = std::move(session), .peer_text = {}};
  const auto slash = text.find('/');
  if (slash != std::string::npos) {
    source.subscriber.stream = text.substr(slash + 1);
    if (source.subscriber.stream.empty()) {
      throw Error::usage(std::string(what) + " is " + quote(text) +
                         ": no stream is named after the slash; write HOST/STREAM, or HOST for the first");
    }
  }
  HostPort host = dialled_host(text.substr(0, slash), what);
  if (host.host == "*") {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       ": all addresses cannot be dialled; name one, or wait for a sender with --listen *:5290");
  }
  if (host.host.empty()) {
    host.host = "localhost";
  }
  source.peer_text = format_host_port(host) + (slash == std::string::npos ? "" : text.substr(slash));
  source.subscriber.endpoint.dial = host;
  return source;
}

}  // namespace framewire
