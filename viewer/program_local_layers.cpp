#include <algorithm>

#include "viewer/program.hpp"

namespace framewire {

void Program::follow_local_layers() {
  local_layers_.follow(
      {.close = [this](ViewedStream& ended) { close(ended); },
       .replace = [this](const auto& ended,
                         const LocalSource& source) { return replace(ended, source_of(source, options_.session)); }});
}

/// A stream that its sender has ended gets no more frames, so another one takes its place when that sender goes on.
std::shared_ptr<ViewedStream> Program::replace(const std::shared_ptr<ViewedStream>& ended, const ViewedSource& source) {
  auto stream = open(source, streams_.size() > 1);
  std::ranges::replace(streams_, ended, stream);
  show_arranged();
  retire(ended, "begins anew");
  return stream;
}

void Program::close(ViewedStream& stream) {
  const auto place = std::ranges::find(streams_, &stream, &std::shared_ptr<ViewedStream>::get);
  stream.stop();
  stream.close(stats_json(report({&*place, 1})));
}

}  // namespace framewire
