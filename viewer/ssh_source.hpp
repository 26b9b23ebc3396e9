// ssh://[USER@]HOST[:PORT]/SOURCE[?OPTIONS]: a source of another host, whose sender the viewer starts there.
#pragma once

#include <string>
#include <string_view>

#include "viewer/local_source.hpp"

namespace framewire {

bool is_ssh_source(std::string_view text) noexcept;

/// SOURCE is what framewire-send takes; %XX stands for a character. OPTIONS are those of check_sender_options() without
/// their dashes: "size=64x36&loop". Throws Error (usage) that calls the text `what`.
LocalSource parse_ssh_source(const std::string& text, std::string_view what);

/// How messages call it: "ssh://me@box:2222/gl:orbit". Printable. Of a
/// source of this machine: as framewire-send takes it.
std::string name_of(const LocalSource& source);

}  // namespace framewire
