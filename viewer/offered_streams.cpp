#include "viewer/offered_streams.hpp"

#include <algorithm>
#include <cstddef>

namespace framewire {

namespace {

/// What the sender of a source offers besides the stream that the source shows.
std::vector<ViewedSource> other_streams(const ViewedSource& source, const std::vector<std::string>& offer) {
  std::vector<ViewedSource> others;
  for (std::size_t i = 1; i < offer.size(); ++i) {
    // A peer may say anything: a name that is empty or the first one's is none.
    const bool is_known = std::ranges::find(offer.begin(), offer.begin() + static_cast<std::ptrdiff_t>(i), offer[i]) !=
                          offer.begin() + static_cast<std::ptrdiff_t>(i);
    if (!offer[i].empty() && !is_known) {
      others.push_back(source_of_stream(source, offer[i]));
    }
  }
  return others;
}

bool contains(const std::vector<ViewedSource>& sources, const ViewedSource& source) {
  return std::ranges::find(sources, source.peer_text, &ViewedSource::peer_text) != sources.end();
}

/// Whether `source` was offered by the sender of `sender`.
bool is_offered_by(const ViewedSource& source, const ViewedSource& sender) {
  return source.is_offered && source.peer_text.starts_with(sender.peer_text + "/");
}

void remove_withdrawn(SceneOfSources& shown, const ViewedSource& sender, const std::vector<ViewedSource>& others) {
  for (std::size_t i = shown.sources.size(); i-- > 0;) {
    if (is_offered_by(shown.sources[i], sender) && !contains(others, shown.sources[i])) {
      shown.sources.erase(shown.sources.begin() + static_cast<std::ptrdiff_t>(i));
      shown.scene.layers.erase(shown.scene.layers.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// Sources of this machine lie over those of all senders. Those that ssh starts elsewhere keep their places.
void add(SceneOfSources& shown, const ViewedSource& source, SceneLayer layer) {
  const auto place =
      std::ranges::find_if(shown.sources, [](const ViewedSource& each) { return each.local && !each.local->host; });
  shown.scene.layers.insert(shown.scene.layers.begin() + (place - shown.sources.begin()), std::move(layer));
  shown.sources.insert(place, source);
}

}  // namespace

void blend_over_first(Scene& scene, const LayersOver& over) {
  for (std::size_t i = 1; i < scene.layers.size(); ++i) {
    scene.layers[i].blend = over.blend.value_or(Blend::over);
    scene.layers[i].says_alpha = over.alpha.has_value();
    scene.layers[i].alpha = over.alpha.value_or(usual_alpha(scene.layout, i, scene.layers[i].blend));
  }
}

bool stands_for_all_streams(const ViewedSource& source) noexcept {
  return source.subscriber.stream.empty() && source.subscriber.endpoint.dial && !source.is_offered;
}

std::optional<SceneOfSources> with_offered_streams(const SceneOfSources& shown,
                                                   std::span<const std::vector<std::string>> offers,
                                                   const LayersOver& over) {
  SceneOfSources now = shown;
  for (std::size_t i = 0; i < shown.sources.size(); ++i) {
    if (!stands_for_all_streams(shown.sources[i]) || offers[i].empty()) {
      continue;
    }
    const std::vector<ViewedSource> others = other_streams(shown.sources[i], offers[i]);
    remove_withdrawn(now, shown.sources[i], others);
    for (const ViewedSource& other : others) {
      if (now.sources.size() < max_scene_layers && !contains(now.sources, other)) {
        SceneLayer layer = shown.scene.layers[i];
        layer.source = shown.scene.layers[i].source + "/" + other.subscriber.stream;
        add(now, other, std::move(layer));
      }
    }
  }
  const bool is_same =
      std::ranges::equal(now.sources, shown.sources, {}, &ViewedSource::peer_text, &ViewedSource::peer_text);
  if (is_same) {
    return std::nullopt;
  }
  blend_over_first(now.scene, over);
  return now;
}

}  // namespace framewire
