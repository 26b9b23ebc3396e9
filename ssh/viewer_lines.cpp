#include "ssh/viewer_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "ssh/address_selection.hpp"

namespace framewire {

namespace {

/// Of its kernel, which acknowledges what this sender says. It cannot be asked behind a jump host.
constexpr std::int64_t longest_host_silence_ns = 10 * ns_per_s;

}  // namespace

ViewerLines::ViewerLines(JsonLines lines, const std::string& ssh_connection, std::int64_t now_ns)
    : lines_(std::move(lines)),
      viewer_host_(ssh_connection),
      heard_ns_(now_ns),
      next_sign_ns_(now_ns + sign_of_life_ns),
      next_ns_(next_sign_ns_) {
  // A startup file of the shell may have printed text without a line break.
  static_cast<void>(::write(lines_.out(), "\n", 1) == 1);
  nlohmann::json hello = to_json(own_host_addresses());
  hello.update({{"type", "hello"}, {"protocol", sender_protocol}, {"version", FRAMEWIRE_VERSION}});
  lines_.send(hello);
}

bool ViewerLines::follow(std::int64_t now_ns) {
  const bool is_open = lines_.receive();
  nlohmann::json message;
  int messages = 0;
  for (; messages < most_messages_at_once && lines_.next(message); ++messages) {
    heard_ns_ = now_ns;
    if (!has_had_plan_) {
      plan_ = sender_plan_from(message);
      has_had_plan_ = true;
    }
  }
  if (!lines_.fault().empty()) {
    throw Error::failed(
        "what the viewer said did not arrive here as it was said; does a startup file of the shell read standard "
        "input?");
  }
  if (!is_open) {
    return false;
  }
  // Only now: a sender that was stopped itself finds what the viewer has said meanwhile.
  if (now_ns - heard_ns_ >= longest_viewer_silence_ns) {
    throw Error::lost_peer("the viewer has said nothing for " + std::to_string(longest_viewer_silence_ns / ns_per_s) +
                           " s, so this sender ends; was the viewer stopped, or the network lost?");
  }
  lines_.flush();
  if (now_ns >= next_sign_ns_) {
    next_sign_ns_ = now_ns + sign_of_life_ns;
    if (viewer_host_.is_silent(longest_host_silence_ns)) {
      throw Error::lost_peer("the viewer's host has not answered for " +
                             std::to_string(longest_host_silence_ns / ns_per_s) +
                             " s, so this sender ends; was the network lost?");
    }
    lines_.send({{"type", "alive"}});
  }
  const bool may_be_more = messages == most_messages_at_once;
  next_ns_ = may_be_more ? now_ns : std::min(next_sign_ns_, heard_ns_ + longest_viewer_silence_ns);
  return true;
}

void ViewerLines::announce(std::uint16_t port) {
  lines_.send({{"type", "listening"}, {"port", port}});
}

}  // namespace framewire
