#include "viewer/source.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/common_options.hpp"
#include "command/shell_word.hpp"
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

namespace {

/// What framewire send takes as SOURCE is no host.
void refuse_local_source(const std::string& text, std::string_view what) {
  constexpr std::array<std::string_view, 5> beginnings = {"gl:", "pattern:", "v4l2:", "x11grab:", "lavfi:"};
  const bool has_beginning =
      std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
  std::error_code ignored;
  const bool is_file = text.find('.') != std::string::npos && std::filesystem::is_regular_file(text, ignored);
  if (has_beginning || is_file || text == "pattern") {
    const std::string hint = what == "HOST" ? "show it with --layer " + shell_word(text) + ", or write HOST:PORT"
                                            : "write local in place of source";
    throw Error::usage(std::string(what) + " is " + quote(text) + ", a source of this machine; " + hint);
  }
}

}  // namespace

ViewedSource parse_source(const std::string& text, SubscriberOptions session, std::string_view what) {
  if (is_ssh_source(text)) {
    return source_of(parse_ssh_source(text, what), session);
  }
  refuse_local_source(text, what);
  const StreamAddress address = parse_stream_address(text, what);
  ViewedSource source{
      .subscriber = std::move(session),
      .peer_text = format_host_port(address.host) + (address.stream.empty() ? "" : "/" + address.stream)};
  source.subscriber.endpoint.dial = address.host;
  source.subscriber.stream = address.stream;
  return source;
}

}  // namespace framewire
