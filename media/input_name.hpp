// What the name of an input stands for, as far as its letters say it.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace framewire {

/// NAME:REST, where NAME looks like the name of a protocol or format: not "C:\…", not "dir/a:b".
std::optional<std::pair<std::string, std::string>> split_prefix(const std::string& name);

/// The file that AvInput opens for a name, which may be missing; nothing for URLs, devices and FORMAT:REST. `folder`:
/// where relative paths begin; empty: in the working directory.
std::optional<std::string> input_file(const std::string& name, const std::string& folder = {});

}  // namespace framewire
