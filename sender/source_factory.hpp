// From the name of a source to the source. A new kind of source is one entry of the table in source_factory.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "sender/source.hpp"

namespace framewire {

/// Opens it. Main thread; may take as long as a network does, or until `is_cancelled`. `log` outlives the source.
/// Throws Error.
std::unique_ptr<Source> make_source(const SourceOptions& options, Log& log, const std::function<bool()>& is_cancelled);

/// For --size auto: gives a gl: source the largest size at which this machine keeps its rate, and says which. Other
/// sources keep their own. Main thread. Throws Error.
void fit_to_machine(SourceOptions& options, Log& log);

/// Whether libav opens it, so that --input-option, --input-format, --start and --retry are for it.
bool is_libav_source(const std::string& source);

/// What a stream of this source is called where nobody says otherwise; may hold any character, and may be empty.
std::string suggested_stream_name(const SourceOptions& options);

/// For --help: what SOURCE may be, a line each.
std::string source_help();
/// For completion: words with bars between them.
std::string source_choices();

}  // namespace framewire
