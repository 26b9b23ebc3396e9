// What a program asks for when it makes a sender, a stream or a receiver.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command/common_options.hpp"
#include "library/include/framewire/framewire.h"
#include "library/program_log.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Options by name, checked: each known, and given once. A value, without the program's memory.
class Settings {
 public:
  /// `settings` may be null. Throws Failure (FW_ERROR_ARGUMENT).
  Settings(const fw_settings* settings, const char* function, std::vector<std::string_view> known);

  [[nodiscard]] bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
  /// Empty if it was not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Throws Error (usage) for a value other than yes and no.
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;

 private:
  struct Option {
    std::string name;
    std::string value;
  };
  [[nodiscard]] const Option* find(std::string_view name) const noexcept;

  std::vector<Option> options_;
};

/// All three throw Failure and Error.
EndpointOptions sender_endpoint(const fw_settings* settings);
StreamOptions stream_options(const char* name, const fw_settings* settings);
struct ReceiverOptions {
  SubscriberOptions subscriber;
  WaitMode wait = WaitMode::adaptive;  // of fw_receiver_acquire()
};
/// `source` may be null: it listens.
ReceiverOptions receiver_options(const char* source, const fw_settings* settings);

/// The log of a handle.
std::shared_ptr<ProgramLog> make_log(const fw_settings* settings);

}  // namespace framewire
