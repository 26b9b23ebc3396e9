// Events of the C interface, from and to those of the control channel.
#pragma once

#include <string>
#include <string_view>

#include "input/events.hpp"
#include "library/include/framewire/framewire.h"

namespace framewire {

/// `text` becomes the event's text, and lives as long as that is used.
fw_event c_event(const InputEvent& event, std::string& text);
/// Throws Failure (FW_ERROR_ARGUMENT) for a type that is no input. Other fields are checked by the reader of the batch.
InputEvent input_event(const fw_event& event);

/// Throws Failure (FW_ERROR_ARGUMENT) unless it is a JSON object of at most 64 KiB. Returns it on one line.
std::string checked_message(const char* json, const char* function);

}  // namespace framewire
