#include "viewer/scene_file.hpp"

#include <fmt/format.h>

// toml++ 3.3 asserts what a file may break ("[=]"), and then reports that as an error of the file, too. So its
// assertions are off, as in Debian's library. Compiled here, the sanitizers and the fuzzer see the rest.
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "viewer/scene_text_check.hpp"
#include "viewer/source.hpp"

namespace framewire {

namespace {

constexpr double max_scene_position = 1e6;
constexpr double max_crop_pixels = 32768;
constexpr std::size_t max_source_bytes = 1024;

/// Where something stands in a file.
struct ScenePlace {
  const std::string& file;
  toml::source_position position;

  [[nodiscard]] std::string text() const {
    return place_in_scene(file, std::max(position.line, 1U), std::max(position.column, 1U));
  }
  [[noreturn]] void fail(std::string_view sentence) const {
    throw Error::usage(fmt::format("{}: {}", text(), sentence));
  }
};

/// A value as a message shows it.
std::string shown_value(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return quote(node.as_string()->get());
    case toml::node_type::integer:
      return std::to_string(node.as_integer()->get());
    case toml::node_type::floating_point:
      return fmt::format("{}", node.as_floating_point()->get());
    case toml::node_type::boolean:
      return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

/// What stands behind a key.
struct SceneValue {
  const std::string& file;
  std::string_view key;
  const toml::node& node;

  [[nodiscard]] ScenePlace place() const { return {file, node.source().begin}; }
  [[noreturn]] void takes(std::string_view what) const {
    place().fail(fmt::format("{} is {}; it takes {}", key, shown_value(node), what));
  }
  [[nodiscard]] const std::string& text(std::string_view what) const {
    const auto* text = node.as_string();
    if (text == nullptr) {
      takes(what);
    }
    return text->get();
  }
  /// `parse`: throws Error for a wrong text. `what`: what it takes.
  template <typename Parse>
  auto parsed(std::string_view what, Parse&& parse) const {
    const std::string& word = text(what);
    try {
      return parse(word, key);
    } catch (const Error& error) {
      throw error.with_context(place().text());
    }
  }
  /// One word of a list; `names` says which there are.
  template <typename Value>
  [[nodiscard]] Value word(std::optional<Value> (*value_for)(std::string_view) noexcept,
                           const std::string& names) const {
    const auto value = value_for(text(names));
    if (!value) {
      takes(names);
    }
    return *value;
  }
  [[nodiscard]] bool flag() const {
    const auto* flag = node.as_boolean();
    if (flag == nullptr) {
      takes("true or false");
    }
    return flag->get();
  }
  [[nodiscard]] double number(double low, double high) const {
    const auto* whole = node.as_integer();
    const auto* fraction = node.as_floating_point();
    const double value = whole != nullptr      ? static_cast<double>(whole->get())
                         : fraction != nullptr ? fraction->get()
                                               : std::numeric_limits<double>::quiet_NaN();
    if (!(value >= low && value <= high)) {
      takes(fmt::format("a number from {:.0f} to {:.0f}", low, high));
    }
    return value;
  }
  /// `names`: "[X, Y]".
  template <std::size_t count>
  [[nodiscard]] std::array<double, count> numbers(std::string_view names, const std::array<double, count>& low,
                                                  double high) const {
    const auto* array = node.as_array();
    if (array == nullptr) {
      takes(names);
    }
    if (array->size() != count) {
      place().fail(fmt::format("{} has {} values; it takes {}", key, array->size(), names));
    }
    std::array<double, count> values{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::string element = fmt::format("{}[{}]", key, i);
      values.at(i) = SceneValue{file, element, *array->get(i)}.number(low.at(i), high);
    }
    return values;
  }
};

/// A key of a table, and what it does to a draft.
template <typename Draft>
struct SceneTableKey {
  std::string_view name;
  void (*read)(const SceneValue& value, Draft& draft);
};

template <typename Draft, std::size_t count>
std::string names_of(const std::array<SceneTableKey<Draft>, count>& keys) {
  std::string names(keys[0].name);
  for (std::size_t i = 1; i < count; ++i) {
    names += i + 1 < count ? ", " : " and ";
    names += keys.at(i).name;
  }
  return names;
}

/// Reads the entries in the order of the file, so that the first error is the one that is reported.
template <typename Draft, std::size_t count>
void read_entries(const std::string& file, const toml::table& table, std::string_view owner,
                  const std::array<SceneTableKey<Draft>, count>& keys, Draft& draft) {
  struct Entry {
    const toml::key* key;
    const toml::node* value;
  };
  std::vector<Entry> entries;
  for (const auto& [key, value] : table) {
    entries.push_back({&key, &value});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
    return one.key->source().begin < other.key->source().begin;
  });
  for (const Entry& entry : entries) {
    const auto known = std::find_if(keys.begin(), keys.end(),
                                    [&](const SceneTableKey<Draft>& each) { return each.name == entry.key->str(); });
    if (known == keys.end()) {
      ScenePlace{file, entry.key->source().begin}.fail(
          fmt::format("{} is no key of {}; it has {}", quote(entry.key->str()), owner, names_of(keys)));
    }
    known->read({file, known->name, *entry.value}, draft);
  }
}

struct LayerDraft {
  SceneLayer layer;
  std::optional<Alpha> alpha;
  std::optional<std::array<double, 2>> at;
  std::optional<std::array<double, 2>> size;
  toml::source_position at_position;
  std::vector<std::string> options;
  std::optional<toml::source_position> options_position;  // set: options are given
};

/// Where relative paths of a scene begin.
std::string folder_of_scene(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

const std::string& line_of_text(const SceneValue& value, std::string_view what) {
  const std::string& text = value.text(what);
  if (text.empty() || text.size() > max_source_bytes || printable(text) != text) {
    value.takes(what);
  }
  return text;
}

void read_local(const SceneValue& value, LayerDraft& draft) {
  constexpr std::string_view what = "what framewire send takes, as in \"film.mkv\" or \"gl:aurora\"";
  const std::string& source = line_of_text(value, what);
  value.parsed(what, [&](const std::string& text, std::string_view key) { check_local_source(text, key); });
  draft.layer.local = LocalSource{.source = source, .folder = folder_of_scene(value.file)};
}

void read_options(const SceneValue& value, LayerDraft& draft) {
  constexpr std::string_view what = "an array of words, as in [\"--fps\", \"30\", \"--loop\"]";
  const auto* words = value.node.as_array();
  if (words == nullptr) {
    value.takes(what);
  }
  for (const toml::node& word : *words) {
    draft.options.push_back(line_of_text({value.file, "a word of options", word}, "a word, as in \"--loop\""));
  }
  draft.options_position = value.place().position;
  try {
    check_sender_options(draft.options, value.key);
  } catch (const Error& error) {
    throw error.with_context(value.place().text());
  }
}

void read_source(const SceneValue& value, LayerDraft& draft) {
  constexpr std::string_view what = "HOST[:PORT][/STREAM], as in \"box:5290/orbit\"";
  draft.layer.source = line_of_text(value, what);
  value.parsed(what, [](const std::string& text, std::string_view key) { parse_source(text, {}, key); });
}

void read_at(const SceneValue& value, LayerDraft& draft) {
  draft.at = value.numbers<2>("[X, Y]", {-max_scene_position, -max_scene_position}, max_scene_position);
  draft.at_position = value.place().position;
}

void read_layer_size(const SceneValue& value, LayerDraft& draft) {
  draft.size = value.numbers<2>("[WIDTH, HEIGHT]", {1, 1}, max_scene_position);
}

void read_crop(const SceneValue& value, LayerDraft& draft) {
  const auto [x, y, width, height] = value.numbers<4>("[X, Y, WIDTH, HEIGHT]", {0, 0, 1, 1}, max_crop_pixels);
  draft.layer.crop = Box{x, y, width, height};
}

constexpr std::array<SceneTableKey<LayerDraft>, 11> layer_keys = {
    {{"source", read_source},
     {"local", read_local},
     {"options", read_options},
     {"at", read_at},
     {"size", read_layer_size},
     {"crop", read_crop},
     {"fit",
      [](const SceneValue& value, LayerDraft& draft) { draft.layer.fit = value.word(fit_from_name, fit_names()); }},
     {"blend", [](const SceneValue& value,
                  LayerDraft& draft) { draft.layer.blend = value.word(blend_from_name, blend_names()); }},
     {"alpha",
      [](const SceneValue& value, LayerDraft& draft) { draft.alpha = value.word(alpha_from_name, alpha_names()); }},
     {"opacity", [](const SceneValue& value, LayerDraft& draft) { draft.layer.opacity = value.number(0, 1); }},
     {"hidden", [](const SceneValue& value, LayerDraft& draft) { draft.layer.is_hidden = value.flag(); }}}};

/// `begin`: of the layer.
void complete_source(LayerDraft& draft, const ScenePlace& begin) {
  if (draft.layer.source.empty() && !draft.layer.local) {
    begin.fail("this layer has no source; write one as in source = \"box:5290/orbit\" or local = \"film.mkv\"");
  }
  if (!draft.layer.source.empty() && draft.layer.local) {
    begin.fail("this layer has both source and local; leave out one of them");
  }
  if (draft.options_position && !draft.layer.local) {
    ScenePlace{begin.file, *draft.options_position}.fail(
        "options are for what the viewer sends itself; add local, or leave them out");
  }
  if (draft.layer.local) {
    draft.layer.local->options = std::move(draft.options);
  }
}

/// A layer, but for its alpha, which depends on the layout.
LayerDraft read_layer(const std::string& file, const toml::table& table) {
  LayerDraft draft;
  read_entries(file, table, "a layer", layer_keys, draft);
  complete_source(draft, {file, table.source().begin});
  if (draft.at && !draft.size) {
    ScenePlace{file, draft.at_position}.fail("at is given without size; add size = [WIDTH, HEIGHT]");
  }
  if (draft.size) {
    const auto [x, y] = draft.at.value_or(std::array<double, 2>{});
    draft.layer.box = Box{x, y, draft.size->at(0), draft.size->at(1)};
  }
  return draft;
}

struct WallDraft {
  Wall wall;
  std::optional<SceneValue> screen;  // checked when the number of screens is known
  bool has_screens = false;
};

constexpr std::array<SceneTableKey<WallDraft>, 3> wall_keys = {
    {{"screens",
      [](const SceneValue& value, WallDraft& draft) {
        const Size screens = value.parsed("COLUMNSxROWS in quotation marks, as in \"3x2\"", parse_screens);
        draft.wall.columns = screens.width;
        draft.wall.rows = screens.height;
        draft.has_screens = true;
      }},
     {"screen", [](const SceneValue& value, WallDraft& draft) { draft.screen.emplace(value); }},
     {"bezel", [](const SceneValue& value, WallDraft& draft) {
        draft.wall.bezel = value.parsed("WIDTHxHEIGHT in quotation marks, as in \"40x30\"", parse_bezel);
      }}}};

Wall read_wall(const SceneValue& value) {
  const auto* table = value.node.as_table();
  if (table == nullptr) {
    value.takes("a table, [wall]");
  }
  WallDraft draft;
  read_entries(value.file, *table, "a wall", wall_keys, draft);
  if (!draft.has_screens) {
    value.place().fail("this wall has no screens; write them as in screens = \"3x2\"");
  }
  if (draft.screen) {
    draft.screen->parsed("COLUMN,ROW in quotation marks, as in \"1,0\"",
                         [&](std::string_view text, std::string_view key) { parse_screen(text, key, draft.wall); });
  }
  return draft.wall;
}

struct SceneDraft {
  Scene scene;
  std::optional<Layout> layout;
  std::vector<LayerDraft> layers;
};

void read_layers(const SceneValue& value, SceneDraft& draft) {
  constexpr std::string_view what = "an array of tables; begin each layer with [[layer]]";
  const auto* layers = value.node.as_array();
  if (layers == nullptr) {
    value.takes(what);
  }
  for (const toml::node& node : *layers) {
    const SceneValue layer{value.file, value.key, node};
    if (node.as_table() == nullptr) {
      layer.takes(what);
    }
    if (draft.layers.size() == max_scene_layers) {
      layer.place().fail(fmt::format("one layer too many; a scene takes at most {}", max_scene_layers));
    }
    draft.layers.push_back(read_layer(value.file, *node.as_table()));
  }
}

void read_light(const SceneValue& value, SceneDraft& draft) {
  constexpr std::string_view what = "coded or linear";
  const std::string& light = value.text(what);
  if (light != "coded" && light != "linear") {
    value.takes(what);
  }
  draft.scene.blends_linear_light = light == "linear";
}

constexpr std::array<SceneTableKey<SceneDraft>, 5> scene_keys = {
    {{"layout",
      [](const SceneValue& value, SceneDraft& draft) { draft.layout = value.word(layout_from_name, layout_names()); }},
     {"canvas",
      [](const SceneValue& value, SceneDraft& draft) {
        draft.scene.canvas = value.parsed("WIDTHxHEIGHT in quotation marks, as in \"1920x1080\"", parse_size);
      }},
     {"light", read_light},
     {"wall", [](const SceneValue& value, SceneDraft& draft) { draft.scene.wall = read_wall(value); }},
     {"layer", read_layers}}};

/// What the file leaves to us.
Scene completed(SceneDraft draft) {
  const bool has_box =
      std::any_of(draft.layers.begin(), draft.layers.end(), [](const LayerDraft& each) { return each.layer.box; });
  draft.scene.layout = draft.layout.value_or(has_box ? Layout::free : Layout::grid);
  for (LayerDraft& each : draft.layers) {
    const std::size_t index = draft.scene.layers.size();
    each.layer.says_alpha = each.alpha.has_value();
    each.layer.alpha = each.alpha.value_or(usual_alpha(draft.scene.layout, index, each.layer.blend));
    add_layer(draft.scene, std::move(each.layer));
  }
  return std::move(draft.scene);
}

toml::table parse_toml(std::string_view text, const std::string& name) {
  constexpr std::size_t most_characters = 200;
  const ScenePlace begin{name, {1, 1}};
  if (text.size() > max_scene_bytes) {
    begin.fail(fmt::format("the scene has {} bytes; it takes at most {}", text.size(), max_scene_bytes));
  }
  check_scene_text(text, name);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    ScenePlace{name, error.source().begin}.fail("not TOML: " + printable(error.description(), most_characters));
  }
}

}  // namespace

Scene parse_scene(std::string_view text, const std::string& name) {
  const toml::table table = parse_toml(text, name);
  SceneDraft draft;
  read_entries(name, table, "a scene", scene_keys, draft);
  if (draft.layers.empty()) {
    ScenePlace{name, {1, 1}}.fail("the scene has no layer; begin one with [[layer]]");
  }
  Scene scene = completed(std::move(draft));
  if (scene.layers.empty()) {
    ScenePlace{name, {1, 1}}.fail("all layers are drawn here; add one with a sender, as in source = \"box:5290\"");
  }
  return scene;
}

Scene read_scene(const std::string& file) {
  return parse_scene(read_scene_text(file), file);
}

}  // namespace framewire
