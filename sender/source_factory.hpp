// From the name of a source to the source.
#pragma once

#include <functional>
#include <memory>

#include "base/log.hpp"
#include "sender/source.hpp"

namespace framewire {

/// Opens it. Main thread; may take as long as a network does, or until `is_cancelled`. `log` outlives the source.
/// Throws Error.
std::unique_ptr<Source> make_source(const SourceOptions& options, Log& log, const std::function<bool()>& is_cancelled);

/// For --size auto: gives a gl: source the largest size at which this machine keeps its rate, and says which. Other
/// sources keep their own. Main thread. Throws Error.
void fit_to_machine(SourceOptions& options, Log& log);

/// The name of the stream that a viewer asks for: "gl:aurora" is "aurora", "/films/a.mkv" is "a.mkv", "-" is "stdin".
std::string stream_name(const std::string& source);

}  // namespace framewire
