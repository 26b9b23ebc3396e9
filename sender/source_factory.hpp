// Makes a source from its name. A new kind of source is one entry of the table in source_factory.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/log.hpp"
#include "sender/source.hpp"

namespace framewire {

/// Opens the source. Main thread. May wait for a network until `is_cancelled` is true. `log` outlives the source.
/// Throws Error.
std::unique_ptr<Source> make_source(const SourceOptions& options, Log& log, const std::function<bool()>& is_cancelled);

/// For --size auto: sets a gl: source to the largest size at which this machine keeps the rate, and logs it. The gl:
/// sources among `all`, of which it is one, share the machine evenly. Other sources keep their size. Main thread.
/// Throws Error.
void fit_to_machine(SourceOptions& options, std::span<const SourceOptions> all, Log& log);

/// Whether --size auto can choose its size.
bool fits_to_machine(const std::string& source);

/// Whether libav opens the source, so that --input-option, --input-format, --hwaccel, --start and --retry apply to
/// it.
bool is_libav_source(const std::string& source);

/// Throws Error (usage) unless --hwaccel takes this value.
void check_hw_accel(const std::string& value);

/// Whether the source is standard input, which only one source can read.
bool reads_standard_input(const std::string& source);

/// The file that the source reads, which may be missing; nothing for what is no file, and for standard input.
std::optional<std::string> file_of_source(const std::string& source);

/// The default name for a stream of this source. May contain any character, and may be empty.
std::string suggested_stream_name(const SourceOptions& options);

/// For --help: the kinds of SOURCE, one per line.
std::string source_help();
/// For completion: words separated by "|".
std::string source_choices();

}  // namespace framewire
