// What the viewer shows without somebody else's sender: a program of its own sends it, over the local link, or from
// another host that ssh reaches (viewer/ssh_source.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace framewire {

struct SubscriberOptions;
struct ViewedSource;

/// As ssh takes it. A value.
struct SshHost {
  std::string name{};  // of a host, or USER@HOST; an IPv6 address has no brackets
  std::optional<std::uint16_t> port{};
  bool operator==(const SshHost&) const = default;
};

/// A value.
struct LocalSource {
  std::string source{};                // as framewire-send takes it
  std::vector<std::string> options{};  // more words for framewire-send
  std::string folder{};                // where relative paths begin; empty: in the working directory
  std::optional<SshHost> host{};       // the sender runs there, and paths begin at home; empty: on this machine
  bool operator==(const LocalSource&) const = default;
};

/// A scene of gl: that the viewer draws itself. A value.
struct ShaderSource {
  std::string scene{};   // as framewire-send takes it: "gl:orbit"
  std::string folder{};  // where relative paths begin; empty: in the working directory
  Size size{};           // 0x0: drawn_size_for() the viewer
  double frames_per_s = 60;
  bool operator==(const ShaderSource&) const = default;
};

/// Nothing if the source is no scene of gl: on this machine, or if its options have more than one --size WxH and one
/// --fps FPS: then framewire-send sends it, and says what is wrong with them.
std::optional<ShaderSource> drawn_source(const LocalSource& local);

/// The file that the source reads, which may be missing; nothing if there is none on this machine.
std::optional<std::string> file_of(const LocalSource& local);

/// Both throw Error (usage) that calls the value `what`. Standard input is the viewer's.
void check_local_source(const std::string& source, std::string_view what);
/// Only what is about the source: framewire-send gets everything else from the viewer.
void check_sender_options(const std::vector<std::string>& options, std::string_view what);

/// The options that check_sender_options() takes: "--size, --fps, …".
std::string sender_option_names();
/// Whether a word is one of them, with a value behind "=" or not.
bool is_sender_option(const std::string& word) noexcept;
/// Whether an option that check_sender_options() takes is followed by a value.
bool takes_value(std::string_view option) noexcept;

/// A listener for the sender of a local source: on a free port of this machine that takes only this user, and without
/// what `session` says about other machines. Who listens knows the port before the sender starts, and keeps it when
/// the sender starts again.
SubscriberOptions local_session(const SubscriberOptions& session);

/// How the viewer sees it: drawn by itself if drawn_source() says so. Else with local_session(), or with Rendezvous if
/// its sender runs on another host. Throws Error.
ViewedSource source_of(const LocalSource& local, const SubscriberOptions& session);

/// framewire-send beside this program, or else in PATH.
std::string sender_program();

/// In which size a scene or a pattern is made for a viewer with such a surface, if its options say no other: the whole
/// surface, but at most what fits into 3840x2160. 0x0 if a side of `surface` is 0.
Size drawn_size_for(Size surface) noexcept;

/// The command that sends `source` to a viewer that listens on `port`. `drawn_size`: drawn_size_for() the viewer; 0x0:
/// framewire-send chooses.
std::vector<std::string> sender_command(const std::string& program, const LocalSource& source, std::uint16_t port,
                                        Size drawn_size = {});

}  // namespace framewire
