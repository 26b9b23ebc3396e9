#include "viewer/local_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gl/shader_scene.hpp"
#include "media/input_name.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/rendezvous.hpp"
#include "viewer/source.hpp"
#include "viewer/ssh_source.hpp"

namespace framewire {

namespace {

struct SenderOption {
  std::string_view name;
  bool has_value;
};

/// A list of what is allowed, so that a new option of framewire-send about its peers is refused, too.
constexpr std::array<SenderOption, 17> sender_options = {{{"--size", true},
                                                          {"--fps", true},
                                                          {"--pix-fmt", true},
                                                          {"--loop", false},
                                                          {"--no-pace", false},
                                                          {"--start", true},
                                                          {"--frames", true},
                                                          {"--duration", true},
                                                          {"--delivery", true},
                                                          {"--slots", true},
                                                          {"--slices", true},
                                                          {"--memory", true},
                                                          {"--retry", true},
                                                          {"--hwaccel", true},
                                                          {"--input-format", true},
                                                          {"--input-option", true},
                                                          {"-f", true}}};

/// Of an option: "--size" also of "--size=64x36".
std::string_view option_name(const std::string& word) noexcept {
  return std::string_view(word).substr(0, word.starts_with("--") ? word.find('=') : std::string::npos);
}

bool says_size(const std::vector<std::string>& options) noexcept {
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (option_name(options[i]) == "--size") {
      return true;
    }
    i += takes_value(options[i]) ? 1U : 0U;
  }
  return false;
}

/// What framewire-send makes itself.
bool has_any_size(const std::string& source) noexcept {
  return source.starts_with("gl:") || source == "pattern" || source.starts_with("pattern:");
}

/// As framewire-send reads them; nothing if it would refuse them, or measure the machine (auto).
std::optional<Size> plain_size(const std::string& text) {
  try {
    return parse_size(text, "--size");
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<double> plain_rate(const std::string& text) noexcept {
  constexpr double lowest = 0.1, highest = 1000;
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number && rate >= lowest && rate <= highest ? std::optional(rate) : std::nullopt;
}

/// The value of the option at `index`, which becomes that of its last word; empty: it has none.
std::string value_of_option(const std::vector<std::string>& options, std::size_t& index) {
  const std::string& word = options[index];
  if (const std::size_t name = option_name(word).size(); name < word.size()) {
    return word.substr(name + 1);
  }
  return ++index < options.size() ? options[index] : std::string();
}

}  // namespace

std::optional<ShaderSource> drawn_source(const LocalSource& local) {
  if (local.host || !local.source.starts_with("gl:")) {
    return std::nullopt;
  }
  std::optional<Size> size;
  std::optional<double> rate;
  for (std::size_t i = 0; i < local.options.size(); ++i) {
    const std::string_view name = option_name(local.options[i]);
    if (name == "--size" && !size) {
      size = plain_size(value_of_option(local.options, i));
      if (!size) {
        return std::nullopt;
      }
    } else if (name == "--fps" && !rate) {
      rate = plain_rate(value_of_option(local.options, i));
      if (!rate) {
        return std::nullopt;
      }
    } else {
      return std::nullopt;
    }
  }
  ShaderSource source{.scene = local.source, .folder = local.folder, .size = size.value_or(Size{})};
  source.frames_per_s = rate.value_or(source.frames_per_s);
  return source;
}

std::optional<std::string> file_of(const LocalSource& local) {
  if (local.host) {
    return std::nullopt;
  }
  if (local.source.starts_with("gl:")) {
    return shader_file(local.source, local.folder);
  }
  return has_any_size(local.source) ? std::nullopt : input_file(local.source, local.folder);
}

void check_local_source(const std::string& source, std::string_view what) {
  if (is_ssh_source(source)) {
    throw Error::usage(std::string(what) + " is " + quote(source) +
                       ", which is not on this machine; write it as a HOST, or as source in a scene");
  }
  if (source == "-") {
    throw Error::usage(std::string(what) +
                       " is '-', and a layer has no standard input; name a file, a named pipe, a device or a scene");
  }
}

void check_sender_options(const std::vector<std::string>& options, std::string_view what) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    const std::string_view name = option_name(word);
    const bool has_equals = name.size() < word.size();
    const auto known = std::ranges::find(sender_options, name, &SenderOption::name);
    if (known == sender_options.end() || (!known->has_value && has_equals)) {
      throw Error::usage(std::string(what) + " has " + quote(word) + ", which is not for layers; they take " +
                         sender_option_names());
    }
    if (!known->has_value || has_equals) {
      continue;
    }
    if (++i == options.size() || options[i].empty()) {
      throw Error::usage(std::string(what) + " has " + word + " without a value; write it as the next word");
    }
  }
}

std::string sender_option_names() {
  std::string names;
  for (const SenderOption& option : sender_options) {
    names += (names.empty() ? "" : ", ") + std::string(option.name);
  }
  return names;
}

bool is_sender_option(const std::string& word) noexcept {
  return std::ranges::find(sender_options, option_name(word), &SenderOption::name) != sender_options.end();
}

bool takes_value(std::string_view option) noexcept {
  const auto known = std::ranges::find(sender_options, option, &SenderOption::name);
  return known != sender_options.end() && known->has_value;
}

SubscriberOptions local_session(const SubscriberOptions& session) {
  SubscriberOptions local = session;
  local.endpoint = {};
  local.endpoint.listen = HostPort{.host = "127.0.0.1", .port = 0};
  local.endpoint.peer_timeout_ns = session.endpoint.peer_timeout_ns;
  local.stream.clear();
  local.delivery.reset();
  local.retry_ns = -1;
  return local;
}

ViewedSource source_of(const LocalSource& local, const SubscriberOptions& session) {
  if (!local.host) {
    return {
        .subscriber = local_session(session), .peer_text = local.source, .local = local, .drawn = drawn_source(local)};
  }
  const auto rendezvous = std::make_shared<Rendezvous>(*local.host, session.endpoint);
  ViewedSource source{.subscriber = remote_session(session, rendezvous),
                      .peer_text = name_of(local),
                      .local = local,
                      .rendezvous = rendezvous};
  if (session.endpoint.pull_interval_ns > 0) {
    source.local->options.emplace_back("--allow-pull");
  }
  return source;
}

std::string sender_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view own(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::string beside = std::string(own.substr(0, own.rfind('/') + 1)) + "framewire-send";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : "framewire-send";
}

Size drawn_size_for(Size surface) noexcept {
  constexpr Size largest{3840, 2160};
  if (surface.width == 0 || surface.height == 0) {
    return {};
  }
  const double scale = std::min({1.0, double{largest.width} / surface.width, double{largest.height} / surface.height});
  const auto scaled = [&](std::uint32_t side) {
    return std::max(static_cast<std::uint32_t>(std::lround(side * scale)), 1U);
  };
  return {scaled(surface.width), scaled(surface.height)};
}

std::vector<std::string> sender_command(const std::string& program, const LocalSource& source, std::uint16_t port,
                                        Size drawn_size) {
  std::vector<std::string> words{program};
  if (drawn_size.width > 0 && has_any_size(source.source) && !says_size(source.options)) {
    words.insert(words.end(), {"--size", std::to_string(drawn_size.width) + "x" + std::to_string(drawn_size.height)});
  }
  words.insert(words.end(), source.options.begin(), source.options.end());
  words.insert(words.end(), {"--to", "127.0.0.1:" + std::to_string(port), "--", source.source});
  return words;
}

}  // namespace framewire
