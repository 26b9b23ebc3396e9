// The key that two machines share: 32 random bytes, in a file that only its owner can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/tls/key.hpp"

namespace framewire {

/// $XDG_CONFIG_HOME/framewire/key, else ~/.config/framewire/key. Throws Error when there is no home directory.
std::string default_key_path();

/// Creates a random key and writes it: mode 0600, missing directories 0700, and either the whole file or none. Throws
/// Error (refused) when the file exists.
void create_key(const std::string& path);

enum class KeyImport { written, same };

/// Reads 64 hexadecimal digits (surrounding white space is ignored, up to 255 bytes in all) from a descriptor until its
/// end, for `timeout_ns` at most, and writes the key as create_key() does. The same key again is no error. Throws Error
/// (refused) when the file has a different key, unless `force`.
KeyImport import_key(const std::string& path, int from_fd, bool force, std::int64_t timeout_ns);

/// Throws Error: missing (failed), readable by others, another owner or not a regular file (refused), not a key
/// (failed).
Key load_key(const std::string& path);

/// A program's key: that of --key FILE, which must exist; otherwise the default one, if there is one.
std::optional<Key> find_key(const std::optional<std::string>& key_file);

/// Writes the key as 64 hexadecimal digits and a newline. Throws Error.
void export_key(const std::string& path, int to_fd);

}  // namespace framewire
